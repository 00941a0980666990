#include "cli/output.h"

#include <algorithm>
#include <cerrno>

#include <string.h>
#include <unistd.h>

namespace npyfs {

OutputBuffer::OutputBuffer(int fd) : fd_(fd) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

void OutputBuffer::write_all(const char* text, std::size_t size) const {
  while (size > 0) {
    const ssize_t written = ::write(fd_, text, size);
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      throw OutputError(errno, std::string("standard output: ") + strerrordesc_np(errno));
    }
    text += written;
    size -= static_cast<std::size_t>(written);
  }
}

void OutputBuffer::flush_buffer() {
  const std::size_t size = static_cast<std::size_t>(pptr() - pbase());
  setp(buffer_.data(), buffer_.data() + buffer_.size());  // first: what failed isn't tried again
  write_all(buffer_.data(), size);
}

OutputBuffer::int_type OutputBuffer::overflow(int_type c) {
  flush_buffer();
  if (!traits_type::eq_int_type(c, traits_type::eof())) {
    sputc(traits_type::to_char_type(c));
  }
  return traits_type::not_eof(c);
}

std::streamsize OutputBuffer::xsputn(const char* text, std::streamsize size) {
  if (size > epptr() - pptr()) {
    flush_buffer();
  }
  if (size > epptr() - pptr()) {
    write_all(text, static_cast<std::size_t>(size));
  } else {
    std::copy_n(text, size, pptr());
    pbump(static_cast<int>(size));
  }
  return size;
}

int OutputBuffer::sync() {
  flush_buffer();
  return 0;
}

}  // namespace npyfs
