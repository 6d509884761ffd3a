// SPDX-License-Identifier: BSD-3-Clause
// The model: pixels → hidden units with ReLU → ten classes with softmax, trained by stochastic
// gradient descent with momentum.
#pragma once

#include "digits.hpp"
#include "layer.hpp"

#include <papcoll/pattern/random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace ddp {

class Network {
 public:
  Network(std::size_t hidden, std::uint64_t seed)
      : hidden_(hidden),
        weights_((pixels + 1) * hidden + (hidden + 1) * classes),
        velocity_(weights_.size()),
        activation_(hidden),
        blame_(hidden) {
    papcoll::pattern::Random random{seed};
    initialise(first(weights_.data()), random);
    initialise(second(weights_.data()), random);
  }

  std::span<const float> weights() const { return weights_; }

  std::size_t classify(const Digit& digit) {
    const auto scores = forward(digit);
    return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) -
                                    scores.begin());
  }

  /// Adds the gradient of one digit's cross entropy, in the order of weights(); returns the
  /// entropy.
  float add_gradient(const Digit& digit, std::span<float> gradient) {
    auto scores = forward(digit);
    const float highest = *std::max_element(scores.begin(), scores.end());
    float sum = 0;
    for (float& s : scores) sum += s = std::exp(s - highest);
    for (float& s : scores) s /= sum;
    const float loss = -std::log(std::max(scores[digit.label], 1e-30F));
    scores[digit.label] -= 1;  // now the derivative of the loss with respect to the scores

    std::fill(blame_.begin(), blame_.end(), 0.0F);
    for (std::size_t h = 0; h < hidden_; ++h) {
      const auto weights = second(weights_.data()).row(h);
      if (activation_[h] <= 0) continue;
      for (std::size_t c = 0; c < classes; ++c) blame_[h] += weights[c] * scores[c];
    }
    accumulate(second(gradient.data()), activation_, scores);
    accumulate(first(gradient.data()), digit.image, blame_);
    return loss;
  }

  /// One step downhill; `gradient` is the mean over the batch.
  void step(std::span<const float> gradient, float rate, float momentum) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      velocity_[i] = momentum * velocity_[i] - rate * gradient[i];
      weights_[i] += velocity_[i];
    }
  }

 private:
  template <class Number> Layer<Number> first(Number* all) const { return {all, pixels, hidden_}; }
  template <class Number> Layer<Number> second(Number* all) const {
    return {all + (pixels + 1) * hidden_, hidden_, classes};
  }

  std::array<float, classes> forward(const Digit& digit) {
    std::array<float, classes> scores{};
    apply(first<const float>(weights_.data()), digit.image, activation_);
    for (float& a : activation_) a = std::max(a, 0.0F);
    apply(second<const float>(weights_.data()), activation_, scores);
    return scores;
  }

  std::size_t hidden_;
  std::vector<float> weights_;
  std::vector<float> velocity_;
  std::vector<float> activation_;
  std::vector<float> blame_;  // derivative of the loss with respect to the hidden units
};

}  // namespace ddp
