// SPDX-License-Identifier: BSD-3-Clause
// A fully connected layer, and what training does with it.
#pragma once

#include <papcoll/pattern/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace ddp {

/// A view of a layer's numbers: a row of weights for each input, then a row of biases.
template <class Number> struct Layer {
  Number* numbers;
  std::size_t inputs;
  std::size_t outputs;

  std::span<Number> row(std::size_t input) const { return {numbers + input * outputs, outputs}; }
  std::span<Number> biases() const { return row(inputs); }
};

/// Weights spread as He et al. 2015 found good for ReLU; biases 0, as they are.
inline void initialise(Layer<float> layer, papcoll::pattern::Random& random) {
  const double width = std::sqrt(6.0 / static_cast<double>(layer.inputs));
  for (float& w : std::span{layer.numbers, layer.inputs * layer.outputs}) {
    w = static_cast<float>(width * (2 * random.fraction() - 1));
  }
}

/// out = biases + weights · in
inline void apply(Layer<const float> layer, std::span<const float> in, std::span<float> out) {
  std::copy(layer.biases().begin(), layer.biases().end(), out.begin());
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (std::size_t o = 0; o < out.size(); ++o) out[o] += in[i] * layer.row(i)[o];
  }
}

/// Adds to the gradient of a layer what one digit contributes. `blame` is the derivative of the
/// loss with respect to the layer's outputs.
inline void accumulate(Layer<float> gradient, std::span<const float> in,
                       std::span<const float> blame) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (std::size_t o = 0; o < blame.size(); ++o) gradient.row(i)[o] += in[i] * blame[o];
  }
  for (std::size_t o = 0; o < blame.size(); ++o) gradient.biases()[o] += blame[o];
}

}  // namespace ddp
