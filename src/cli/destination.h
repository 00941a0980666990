// A directory that files are extracted into, and nothing outside it: symbolic links on the way are
// refused, and a file appears under its name only once it is whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "npyfs/base/bytes.h"
#include "npyfs/base/fd.h"

namespace npyfs {

// One thread. All of it throws Error with the errno, and the path as the user would write it.
class Destination {
 public:
  // Makes the directory, and those above it, if it isn't there.
  explicit Destination(std::string path);

  // Paths are relative, with '/' between components that are neither empty nor "..".

  // Bytes of the regular file that is there already.
  std::optional<std::uint64_t> existing_size(const std::string& path);

  // A file under a temporary name beside its place, removed again unless commit() was called.
  class NewFile {
   public:
    NewFile(NewFile&& other) noexcept;
    NewFile& operator=(NewFile&&) = delete;
    ~NewFile();

    void write(Bytes bytes);
    // Closes the file and gives it its name; what had it is replaced.
    void commit();

   private:
    friend class Destination;
    NewFile(Fd directory, std::string name, std::string shown_as);
    void reserve(std::uint64_t size);
    [[noreturn]] void fail(int errno_value) const;

    Fd directory_;
    std::string name_;
    std::string shown_as_;
    std::string temporary_name_;
    Fd file_;
  };

  // `size`: how much will be written; a disk that is too full for it is told at once.
  NewFile create(const std::string& path, std::uint64_t size);

 private:
  int directory_of(const std::string& path);

  std::string path_;
  Fd root_;
  std::string last_way_;  // of the directory that last_ is open on
  Fd last_;
};

}  // namespace npyfs
