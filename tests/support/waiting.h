// Waiting for what other threads do.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

namespace npyfs {

// Fails, and returns, if it doesn't hold within two minutes.
inline void wait_until(const std::function<bool()>& holds) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!holds()) {
    ASSERT_LT(std::chrono::steady_clock::now(), patience);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace npyfs
