#include "npyfs/tree/load.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npyfs/format/pickled_arrays.h"
#include "npyfs/format/sniff.h"

#include "tree/directory_loader.h"
#include "tree/disk_store.h"
#include "tree/loader.h"

namespace npyfs {
namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string stem_of(std::string_view path) {
  std::string_view name = file_name(path);
  for (const std::string_view ending : {".npy", ".raw", ".bin"}) {
    if (name.ends_with(ending) && name.size() > ending.size()) {
      name.remove_suffix(ending.size());
      break;
    }
  }
  return std::string(name);
}

Catalog load_npz(const std::string& path, std::shared_ptr<const File> file,
                 const LoadOptions& options, const std::shared_ptr<Decoder>& decoder) {
  Loader loader(options, decoder, file->identity().mtime_ns);
  auto npz = Npz::read(std::move(file), std::string(file_name(path)), decoder);
  const Npz& known = *npz;
  loader.add_npz(known, loader.builder().add_store(std::move(npz), ""), kRootItem);
  return std::move(loader).finish();
}

// The one file that is the source.
class OneFile final : public Store {
 public:
  OneFile(std::shared_ptr<const File> content, std::string name, std::string format)
      : content_(std::move(content)), name_(std::move(name)), format_(std::move(format)) {}
  std::string key(std::uint32_t) const override { return stem_of(name_); }
  std::uint64_t size(std::uint32_t) const override { return content_->size(); }
  SourcePtr open(std::uint32_t) const override { return content_; }
  void check(std::uint32_t) const override { content_->check(); }
  std::int64_t mtime_ns(std::uint32_t) const override { return content_->identity().mtime_ns; }
  Origin origin(std::uint32_t) const override {
    Origin origin;
    origin.file = name_;
    origin.format = format_;
    if (format_ == "npy") {
      origin.offset = 0;
    }
    origin.compression = "stored";
    origin.stored_bytes = content_->size();
    return origin;
  }

 private:
  std::shared_ptr<const File> content_;
  std::string name_;
  std::string format_;
};

// A file whose bytes are one array: an image, or data that a sidecar beside it describes.
Catalog load_npy(const std::string& path, std::shared_ptr<const File> file, ArrayInfo info,
                 const LoadOptions& options, const std::shared_ptr<Decoder>& decoder) {
  Loader loader(options, decoder, file->identity().mtime_ns);
  const std::string name(file_name(path));
  const std::uint32_t store = loader.builder().add_store(
      std::make_unique<OneFile>(std::move(file), name, info.header.empty() ? "npy" : "raw"), "");
  const bool is_ours = name.starts_with(".npyfs");
  loader.add_array({kRootItem, is_ours ? "%2E" + stem_of(name).substr(1) : stem_of(name), {}},
                   store, 0, std::make_shared<const ArrayInfo>(std::move(info)));
  return std::move(loader).finish();
}

// A pickle: the arrays that are found in it.
Catalog load_pickle(const std::string& path, const std::shared_ptr<const File>& file,
                    const LoadOptions& options, const std::shared_ptr<Decoder>& decoder) {
  Loader loader(options, decoder, file->identity().mtime_ns);
  const std::string name(file_name(path));
  const std::uint32_t store =
      loader.builder().add_store(std::make_unique<OneFile>(file, name, "pickle"), "");
  const auto stem = pickle_stem(name);
  const std::string shown = path_components(name, std::nullopt, kMostNameBytes).back();
  const ItemId item = loader.builder().add_file(kRootItem, shown, store, 0);
  loader.add_pickle(item, stem.value_or(name), 0, kRootItem);
  Catalog catalog = std::move(loader).finish();
  if (!catalog.hidden(item)) {
    if (!catalog.problems().empty()) {
      std::string_view what = catalog.problems().front().what;
      what.remove_prefix(what.starts_with(name + ": ") ? name.size() + 2 : 0);
      throw_corrupt(what);
    }
    const auto notes = find_arrays(read_pickle(*file, 0, file->size())).notes;
    throw_corrupt("a pickle that holds no NumPy array", notes.empty() ? "" : "; " + notes.front());
  }
  return catalog;
}

Catalog load_directory(const std::string& path, const LoadOptions& options,
                       const std::shared_ptr<Decoder>& decoder) {
  auto root = std::make_shared<const Fd>(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status = {};
  if (!root->valid() || ::fstat(root->get(), &status) != 0) {
    throw_system(errno, path);
  }
  char* resolved = ::realpath(path.c_str(), nullptr);
  const std::string absolute = resolved != nullptr ? resolved : path;
  ::free(resolved);
  const FileIdentity identity = identity_of(status);
  Loader loader(options, decoder, identity.mtime_ns);
  DirectoryLoader directory(loader, std::move(root), absolute);
  directory.load(identity);
  Catalog catalog = std::move(loader).finish();
  directory.close_files();
  return catalog;
}

// The sidecar of a header-less file, if it has one.
std::optional<Sidecar> sidecar_beside(const std::string& path) {
  const std::string stem = path.substr(0, path.size() - file_name(path).size()) + stem_of(path);
  for (const char* ending : {"_meta.json", ".meta.json"}) {
    if (::access((stem + ending).c_str(), R_OK) != 0) {
      continue;
    }
    const auto file = File::open(stem + ending);
    const std::uint64_t size = std::min<std::uint64_t>(file->size(), kMaxSidecarSize + 1);
    auto sidecar = parse_sidecar(read_bytes(*file, 0, size));
    if (sidecar) {
      return sidecar;
    }
  }
  return std::nullopt;
}

}  // namespace

Catalog load(const std::string& path, const LoadOptions& options,
             const std::shared_ptr<Decoder>& decoder) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    throw_system(errno, path);
  }
  if (S_ISDIR(status.st_mode)) {
    return load_directory(path, options, decoder);
  }
  const auto file = File::open(path);
  try {
    const auto head = read_bytes(*file, 0, std::min<std::uint64_t>(file->size(), kSniffSize));
    if (has_npy_magic(head)) {
      ArrayInfo info = describe_image(*file, head);
      if (!info.known) {
        throw *info.error;
      }
      if (const auto sidecar = sidecar_beside(path)) {
        set_type(info, *sidecar);
      }
      return load_npy(path, file, std::move(info), options, decoder);
    }
    if (const auto sidecar = has_zip_magic(head) ? std::nullopt : sidecar_beside(path)) {
      return load_npy(path, file, describe_data(*sidecar, head, file->size()), options, decoder);
    }
    // A zip may stand behind other bytes; only what looks like one gets a zip's error.
    if (has_zip_magic(head)) {
      return load_npz(path, file, options, decoder);
    }
    if (has_pickle_magic(head) || pickle_stem(path)) {
      return load_pickle(path, file, options, decoder);
    }
    try {
      return load_npz(path, file, options, decoder);
    } catch (const Error& e) {
      if (e.errno_value() != EIO) {
        throw;
      }
      throw_corrupt("neither a .npz archive nor a .npy image but ",
                    describe_no_image(head, file->size()));
    }
  } catch (const Error& e) {
    const std::string_view text = e.what();
    throw text.starts_with(path) ? e : e.prefixed(path);
  }
}

}  // namespace npyfs
