#include "command_line/record_source.h"

#include "command_line/line_splitter.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

constexpr size_t kBlockBytes = 256 * 1024;
constexpr size_t kLineBytesMax = 256u << 20;

class Lines : public RecordSource {
 public:
  Lines(CommandContext& context, std::string key_separator)
      : context_(context), key_separator_(std::move(key_separator)) {}

  Result<std::optional<SourceRecord>> next() override {
    NARU_TRY_ASSIGN(const auto line, splitter_.next());
    if (!line) return std::nullopt;
    if (key_separator_.empty()) return SourceRecord{.value = *line};
    const size_t separator = line->find(key_separator_);
    if (separator == std::string_view::npos) {
      return failure(ErrorCode::invalid_argument, "line {} has no '{}' between key and value", splitter_.lines(),
                     printable(key_separator_));
    }
    return SourceRecord{.key = line->substr(0, separator), .value = line->substr(separator + key_separator_.size())};
  }

  Task<Result<bool>> more() override {
    if (ended_) co_return false;
    Bytes block(kBlockBytes);
    const auto got = co_await on_worker(context_.seams.scheduler, [this, &block] { return read(block); });
    co_await to_loop(context_.seams.scheduler);
    if (!got) co_return failure(got.error());
    if (*got == 0) {
      splitter_.end();
      ended_ = true;
    }
    splitter_.add(as_text(block).substr(0, *got));
    co_return true;
  }

 protected:
  virtual Result<size_t> read(MutableBytesView to) = 0;

  CommandContext& context_;

 private:
  const std::string key_separator_;
  LineSplitter splitter_{kLineBytesMax};
  bool ended_ = false;
};

class InputLines final : public Lines {
 public:
  using Lines::Lines;

 private:
  Result<size_t> read(MutableBytesView to) override { return context_.terminal.read_input(to); }
};

class FileLines final : public Lines {
 public:
  FileLines(CommandContext& context, std::string key_separator, std::shared_ptr<File> file)
      : Lines(context, std::move(key_separator)), file_(std::move(file)) {}

 private:
  Result<size_t> read(MutableBytesView to) override {
    if (context_.interrupted.cancelled()) return 0;
    NARU_TRY_ASSIGN(const size_t got, file_->read_at(position_, to));
    position_ += got;
    return got;
  }

  const std::shared_ptr<File> file_;
  uint64_t position_ = 0;
};

// Numbers first, so that records differ; then letters that do not compress to nothing.
class GeneratedRecords final : public RecordSource {
 public:
  GeneratedRecords(CommandContext& context, uint64_t count, size_t size)
      : context_(context), left_(count), value_(size, '.') {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz012345";
    for (char& letter : value_) letter = kLetters[context.seams.random.below(kLetters.size())];
  }

  Result<std::optional<SourceRecord>> next() override {
    if (left_ == 0 || context_.interrupted.cancelled()) return std::nullopt;
    --left_;
    const std::string number = fmt::format("{:016x}", number_++);
    value_.replace(0, std::min(value_.size(), number.size()), number, 0, std::min(value_.size(), number.size()));
    return SourceRecord{.value = value_};
  }
  Task<Result<bool>> more() override { co_return false; }

 private:
  CommandContext& context_;
  uint64_t left_;
  uint64_t number_ = 0;
  std::string value_;
};

}  // namespace

Task<Result<std::unique_ptr<RecordSource>>> open_source(CommandContext& context, const ProduceFlags& flags) {
  if (flags.count) co_return std::make_unique<GeneratedRecords>(context, *flags.count, flags.size);
  if (flags.file.empty() || flags.file == "-") co_return std::make_unique<InputLines>(context, flags.key_separator);
  auto file =
      co_await on_worker(context.seams.scheduler, [&] { return context.seams.files.open(flags.file, OpenMode::read); });
  co_await to_loop(context.seams.scheduler);
  if (!file) co_return failure(file.error());
  co_return std::make_unique<FileLines>(context, flags.key_separator, std::move(*file));
}

}  // namespace naru::command_line
