// Standard output whose failures can't be missed: a full disk or a closed pipe ends the verb at
// once.
#pragma once

#include <array>
#include <ostream>
#include <streambuf>

#include "npyfs/base/error.h"

namespace npyfs {

// Standard output can't be written: EPIPE if nobody reads it any more.
class OutputError : public Error {
 public:
  using Error::Error;
};

// Writes to a descriptor, which it doesn't own. One thread.
class OutputBuffer final : public std::streambuf {
 public:
  explicit OutputBuffer(int fd);

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  void write_all(const char* text, std::size_t size) const;
  void flush_buffer();

  int fd_;
  std::array<char, std::size_t{64} << 10> buffer_;
};

// Every operation throws OutputError if bytes can't be written, `flush` at the latest.
class OutputStream final : public std::ostream {
 public:
  explicit OutputStream(int fd) : std::ostream(nullptr), buffer_(fd) {
    rdbuf(&buffer_);
    exceptions(std::ios::badbit);
  }

 private:
  OutputBuffer buffer_;
};

}  // namespace npyfs
