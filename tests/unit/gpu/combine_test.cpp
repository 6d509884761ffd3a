// SPDX-License-Identifier: BSD-3-Clause
// The body of the kernels, by many threads in turn, against a plain loop.
#include "catch.hpp"

#include <papcoll/gpu/device_reducer.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace papcoll;

// Elements of 1, 3, 4, 8, 12, 16 and 24 bytes: words of which each is combined by itself.
template <class Word, std::size_t words> struct CombinedElement { Word word[words]; };

// low * 3 + high in every word: neither commutative nor associative, so that each order of inputs
// gives another result.
struct InThisOrder {
  template <class Word, std::size_t words>
  CombinedElement<Word, words> operator()(const CombinedElement<Word, words>& low,
                                          const CombinedElement<Word, words>& high) const {
    CombinedElement<Word, words> made{};
    for (std::size_t i = 0; i < words; ++i) {
      made.word[i] = static_cast<Word>(low.word[i] * 3U + high.word[i]);
    }
    return made;
  }
};

// Elements of some inputs and outputs, `shift` bytes from what is aligned to 16.
class CombinedBuffers {
 public:
  CombinedBuffers(std::size_t count, std::size_t bytes, std::size_t shift)
      : shift_(shift), stride_((bytes + 64) / 16 * 16 + 16), memory_(count * stride_ / 16 + 1) {
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < memory_.size() * 16; ++i) {
      state = state * 1664525U + 1013904223U;
      data()[i] = static_cast<unsigned char>(state >> 24U);
    }
  }
  unsigned char* at(std::size_t i) { return data() + i * stride_ + shift_; }
  std::vector<unsigned char> all() { return {data(), data() + memory_.size() * 16}; }

 private:
  struct alignas(16) Line {
    unsigned char byte[16];
  };
  unsigned char* data() { return memory_.data()->byte; }

  std::size_t shift_;
  std::size_t stride_;
  std::vector<Line> memory_;
};

// Where the first output is: beside the inputs, or one of them.
enum class CombinedInto { others, first, last };

template <class Element>
void check_combine(std::size_t n, std::size_t inputs, std::size_t outputs, std::size_t shift,
                   std::size_t threads, CombinedInto into) {
  CAPTURE(sizeof(Element), n, inputs, outputs, shift, threads, static_cast<int>(into));
  const std::size_t bytes = n * sizeof(Element);
  CombinedBuffers buffers(inputs + outputs, bytes, shift);
  gpu::Operands o;
  o.inputs = static_cast<int>(inputs);
  o.outputs = static_cast<int>(outputs);
  for (std::size_t k = 0; k < inputs; ++k) o.in[k] = buffers.at(k);
  for (std::size_t k = 0; k < outputs; ++k) o.out[k] = buffers.at(inputs + k);
  if (into == CombinedInto::first) o.out[0] = buffers.at(0);
  if (into == CombinedInto::last) o.out[0] = buffers.at(inputs - 1);

  // The same on a copy, element by element.
  CombinedBuffers expected(inputs + outputs, bytes, shift);
  for (std::size_t i = 0; i < n; ++i) {
    Element low;
    std::memcpy(&low, expected.at(0) + i * sizeof low, sizeof low);
    for (std::size_t k = 1; k < inputs; ++k) {
      Element high;
      std::memcpy(&high, expected.at(k) + i * sizeof high, sizeof high);
      low = InThisOrder{}(low, high);
    }
    for (std::size_t k = 0; k < outputs; ++k) {
      std::size_t to = inputs + k;
      if (k == 0 && into == CombinedInto::first) to = 0;
      if (k == 0 && into == CombinedInto::last) to = inputs - 1;
      std::memcpy(expected.at(to) + i * sizeof low, &low, sizeof low);
    }
  }

  for (std::size_t thread = 0; thread < threads; ++thread) {
    gpu::combine<Element>(o, n, thread, threads, InThisOrder{});
  }
  // Also what lies between the buffers is unchanged.
  REQUIRE(buffers.all() == expected.all());
}

template <class Element> void check_combine_element() {
  const std::size_t alignment = alignof(Element);
  for (const std::size_t shift : {std::size_t{0}, alignment}) {
    for (const std::size_t n : {0U, 1U, 2U, 5U, 16U, 17U, 67U}) {
      check_combine<Element>(n, 3, 2, shift, 4, CombinedInto::others);
    }
  }
  for (const CombinedInto into : {CombinedInto::first, CombinedInto::last}) {
    check_combine<Element>(35, 3, 1, 0, 2, into);
    check_combine<Element>(35, 4, 3, alignment, 3, into);
  }
}

// Counts calls for each element: one call too many would go unseen in outputs beside the inputs.
struct CountsCalls {
  std::vector<int>* calls;
  std::uint16_t operator()(std::uint16_t low, std::uint16_t) const {
    ++(*calls)[low];
    return low;
  }
};

}  // namespace

TEST_CASE("A kernel's body combines elements of any size, by packs where buffers are aligned",
          "[gpu]") {
  check_combine_element<CombinedElement<std::uint8_t, 1>>();
  check_combine_element<CombinedElement<std::uint8_t, 3>>();
  check_combine_element<CombinedElement<std::uint32_t, 1>>();
  check_combine_element<CombinedElement<std::uint64_t, 1>>();
  check_combine_element<CombinedElement<std::uint32_t, 3>>();
  check_combine_element<CombinedElement<std::uint64_t, 2>>();
  check_combine_element<CombinedElement<std::uint64_t, 3>>();
}

TEST_CASE("A kernel's body combines 1 to 16 inputs in their order, and writes 1 to 16 outputs",
          "[gpu]") {
  for (std::size_t k = 1; k <= gpu::most_operands; ++k) {
    check_combine<CombinedElement<std::uint16_t, 1>>(43, k, 1, 0, 3, CombinedInto::others);
    check_combine<CombinedElement<std::uint32_t, 3>>(43, k, 1, 0, 3, CombinedInto::others);
    check_combine<CombinedElement<std::uint16_t, 1>>(43, 2, k, 0, 3, CombinedInto::others);
    check_combine<CombinedElement<std::uint16_t, 1>>(43, k, k, 2, 3, CombinedInto::first);
  }
}

TEST_CASE("The threads of a kernel visit each element once", "[gpu]") {
  for (const std::size_t shift : {0U, 1U}) {
    for (const std::size_t n : {0U, 1U, 7U, 8U, 9U, 100U, 1000U}) {
      for (const std::size_t threads : {1U, 2U, 7U, 64U, 2000U}) {
        CAPTURE(shift, n, threads);
        alignas(16) std::uint16_t in[1001];
        std::uint16_t out[1001] = {};
        for (std::size_t i = 0; i < n; ++i) in[i + shift] = static_cast<std::uint16_t>(i);
        std::vector<int> calls(n, 0);
        gpu::Operands o;
        o.in[0] = o.in[1] = in + shift;
        o.out[0] = out;
        o.inputs = 2;
        o.outputs = 1;
        for (std::size_t thread = 0; thread < threads; ++thread) {
          gpu::combine<std::uint16_t>(o, n, thread, threads, CountsCalls{&calls});
        }
        REQUIRE(calls == std::vector<int>(n, 1));
        REQUIRE(std::memcmp(out, in + shift, n * sizeof *out) == 0);
      }
    }
  }
}
