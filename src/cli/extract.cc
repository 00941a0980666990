#include <algorithm>
#include <cstddef>
#include <ostream>
#include <vector>

#include <signal.h>

#include "npyfs/base/error.h"
#include "npyfs/source/cancel.h"

#include "cli/command.h"
#include "cli/destination.h"
#include "cli/interrupts.h"
#include "cli/progress.h"
#include "cli/source_tree.h"
#include "cli/text.h"
#include "cli/values.h"
#include "cli/verbs.h"

namespace npyfs {
namespace {

constexpr std::size_t kPiece = std::size_t{4} << 20;

struct Job {
  ItemId array = 0;
  View view = View::kNpy;
};

// Copies files out, one after another. What is wrong with an array is reported and passed over;
// what is wrong with the destination throws Error.
class Extraction {
 public:
  Extraction(const Views& views, std::string source, Destination destination, std::ostream& err)
      : views_(views),
        source_(std::move(source)),
        destination_(std::move(destination)),
        err_(err) {}

  void run(const std::vector<Job>& jobs) {
    std::uint64_t total = 0;
    for (const Job& job : jobs) {
      total += views_.size(job.array, job.view);
    }
    Progress progress(terminal_of(err_), total);
    for (const Job& job : jobs) {
      if (Interrupts::caught() != 0) {
        return;
      }
      copy(job, progress);
    }
  }

  void report(std::string_view path, std::string_view what) {
    err_ << "npyfs: " << located(source_, path, what) << '\n';
    ++failed_;
  }

  std::uint64_t failed() const { return failed_; }

  std::string summary() const {
    std::string text = counted(written_, "file") + " extracted, " + human_size(written_bytes_);
    if (skipped_ > 0) {
      text += "; " + grouped(skipped_) + " skipped, there already with the same size";
    }
    return text + (failed_ > 0 ? "; " + grouped(failed_) + " failed" : "");
  }

 private:
  void copy(const Job& job, Progress& progress) {
    const std::uint64_t size = views_.size(job.array, job.view);
    const std::string path = views_.catalog().path(job.array) + std::string(suffix(job.view));
    if (destination_.existing_size(path) == size) {
      ++skipped_;
      progress.add(size);
      return;
    }
    SourcePtr content;
    try {
      content = views_.open(job.array, job.view);
    } catch (const Error& e) {
      progress.clear();
      report(path, e.what());
      return;
    }
    auto file = destination_.create(path, size);
    if (fill(file, *content, path, progress)) {
      file.commit();
      ++written_;
      written_bytes_ += size;
    }
  }

  // False if the bytes can't be had, which it reports, or the user wants no more.
  bool fill(Destination::NewFile& file, const Source& content, const std::string& path,
            Progress& progress) {
    buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(content.size(), kPiece)));
    for (std::uint64_t at = 0; at < content.size();) {
      const auto piece = std::span(buffer_).first(
          static_cast<std::size_t>(std::min<std::uint64_t>(content.size() - at, kPiece)));
      try {
        content.read(at, piece);
      } catch (const Error& e) {
        if (Interrupts::caught() == 0) {
          progress.clear();
          report(path, e.what());
        }
        return false;
      }
      file.write(piece);
      if (Interrupts::caught() != 0) {
        return false;
      }
      at += piece.size();
      progress.add(piece.size());
    }
    return true;
  }

  const Views& views_;
  std::string source_;
  Destination destination_;
  std::ostream& err_;
  std::vector<std::byte> buffer_;
  std::uint64_t written_ = 0;
  std::uint64_t written_bytes_ = 0;
  std::uint64_t skipped_ = 0;
  std::uint64_t failed_ = 0;
};

// The files to write. Arrays that can't be had are reported instead.
std::vector<Job> jobs_of(const Views& views, const Selection& selection, const ViewSet& wanted,
                         Extraction& extraction) {
  std::vector<Job> jobs;
  for (const ItemId array : selection.arrays) {
    const ArrayInfo& info = views.catalog().info(array);
    if (info.damaged || !info.known) {
      extraction.report(views.catalog().path(array) + ".npy",
                        info.error ? info.error->what() : "damaged");
      continue;
    }
    for (std::size_t i = 0; i < kViews; ++i) {
      if (wanted[i] && views.exists(array, static_cast<View>(i))) {
        jobs.push_back({array, static_cast<View>(i)});
      }
    }
  }
  for (const Problem* problem : selection.missing) {
    extraction.report("", problem->what);
  }
  return jobs;
}

int extract(const Tree& tree, const Selection& selection, const ViewSet& wanted,
            Extraction& extraction, std::ostream& out) {
  int signal = 0;
  {
    const Interrupts interrupts;
    const CancelScope cancel([] { return Interrupts::caught() != 0; });
    extraction.run(jobs_of(tree.views(), selection, wanted, extraction));
    signal = Interrupts::caught();
  }
  out << extraction.summary() << '\n';
  if (signal != 0) {
    out.flush();
    ::raise(signal);  // ends as whoever sent it expects
    return 1;
  }
  return extraction.failed() == 0 ? 0 : 1;
}

}  // namespace

int extract_verb(Words words, std::ostream& out, std::ostream& err) {
  Command command(
      "extract", "extract [OPTIONS] SOURCE DIR [GLOB...]",
      "Copies arrays out as files, without mounting: NAME.npy of each into DIR, which is\n"
      "made if it isn't there. A file that is there already with the same size is skipped,\n"
      "so an interrupted run can be repeated. Plain files aren't extracted; 'npyfs cat'\n"
      "has them.");
  std::string source;
  std::string directory;
  std::vector<std::string> globs;
  std::string views = "npy";
  command.argument("SOURCE", source, "an archive, a .npy file or a directory");
  command.argument("DIR", directory, "where the files go");
  command.arguments("GLOB", globs, "only arrays whose key fits; '*' crosses '/'");
  command.option("--views", "LIST", views,
                 "files to write for each array, of\n"
                 "npy:raw:u8view:meta:f32view:c64view, or all (npy)");
  ReadingOptions reading(command);
  if (!command.parse(words, out)) {
    return 0;
  }
  command.require("SOURCE", source);
  command.require("DIR", directory);
  const ViewSet wanted = parse_views("--views", views);
  const auto tree = open_source(source, reading.options());
  const Selection selection = select_arrays(tree->catalog(), globs);
  Extraction extraction(tree->views(), source, Destination(directory), err);
  const int status = extract(*tree, selection, wanted, extraction, out);
  for (const std::string& glob : selection.unmatched) {
    err << "npyfs: " << source << ": no array's key fits '" << printable(glob) << "'\n";
  }
  return selection.unmatched.empty() ? status : 1;
}

}  // namespace npyfs
