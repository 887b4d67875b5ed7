#include "broker/stored_codecs.h"

#include <gtest/gtest.h>

#include <vector>

#include "async/task_group.h"
#include "platform/simulated/simulated_file_system.h"
#include "platform/simulated/simulated_random.h"
#include "record_format/batch_builder.h"

namespace naru {
namespace {

class WorkerScheduler final : public Scheduler {
 public:
  void post(UniqueFunction<void()> work) override { work(); }
  void run_blocking(UniqueFunction<void()> work) override {
    in_worker = true;
    work();
    in_worker = false;
  }
  TimerId start_timer(MonotonicTime, UniqueFunction<void()>) override { return 0; }
  bool cancel_timer(TimerId) override { return true; }

  bool in_worker = false;
};

class StoredCodecs : public testing::Test {
 protected:
  StoredCodecs() {
    file_ = files_.open("/log", OpenMode::create).value();
    files_.set_trace([this](FileOperation operation, const std::string&, uint64_t) {
      if (operation == FileOperation::read) (scheduler_.in_worker ? reads_on_worker_ : reads_at_once_)++;
    });
  }
  void append(Compression codec, size_t value_bytes) {
    BatchBuilder builder({.compression = codec});
    builder.add(0, "key", std::string(value_bytes, 'v'));
    const Bytes batch = builder.build().value();
    ASSERT_TRUE(file_->write_at(size_, batch).ok());
    size_ += batch.size();
  }
  Result<bool> look() {
    Result<bool> found = false;
    TaskGroup task;
    const LogSlice slice{.file = file_, .bytes = static_cast<uint32_t>(size_)};
    const auto ask = [&]() -> Task<void> { found = co_await contains_zstd(scheduler_, slice); };
    task.spawn(ask());
    return found;
  }

  SimulatedRandom random_{1};
  SimulatedFileSystem files_{random_};
  WorkerScheduler scheduler_;
  std::shared_ptr<File> file_;
  uint64_t size_ = 0;
  int reads_at_once_ = 0;
  int reads_on_worker_ = 0;
};

TEST_F(StoredCodecs, FindZstdInAnyBatch) {
  for (int i = 0; i < 10; ++i) append(i % 2 == 0 ? Compression::none : Compression::lz4, 100 * static_cast<size_t>(i));
  EXPECT_EQ(look().value(), false);
  append(Compression::zstd, 10);
  EXPECT_EQ(look().value(), true);
}

TEST_F(StoredCodecs, FewHeadersInMemoryAreReadAtOnceAndManyInOneGo) {
  for (int i = 0; i < 50; ++i) append(Compression::none, 10);
  EXPECT_EQ(look().value(), false);
  EXPECT_EQ(reads_on_worker_, 0);
  EXPECT_LE(reads_at_once_, 2);
}

TEST_F(StoredCodecs, NothingIsReadFromAColdDiskOnALoop) {
  append(Compression::zstd, 10);
  files_.set_cold_rate(1);
  EXPECT_EQ(look().value(), true);
  EXPECT_EQ(reads_at_once_, 0);
  EXPECT_GT(reads_on_worker_, 0);
}

TEST_F(StoredCodecs, ThousandsOfHeadersAreLookedAtOnAWorker) {
  for (int i = 0; i < 2000; ++i) append(Compression::none, 10);
  EXPECT_EQ(look().value(), false);
  EXPECT_EQ(reads_at_once_, 0);
}

TEST_F(StoredCodecs, DamageIsTold) {
  append(Compression::none, 10);
  files_.flip_bit("/log", batch_field::kMagic, 1);
  EXPECT_FALSE(look().has_value());
}

}  // namespace
}  // namespace naru
