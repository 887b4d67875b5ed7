#include "platform/simulated/simulated_process.h"

#include <utility>

#include "async/wakeup.h"
#include "platform/simulated/simulated_world.h"

namespace naru {

// The machine's disk, until the process dies.
class SimulatedProcess::Files final : public FileSystem {
 public:
  Files(SimulatedFileSystem& disk, const bool& alive) : disk_(disk), alive_(alive) {}

  Result<std::shared_ptr<File>> open(const std::string& path, OpenMode mode) override {
    NARU_TRY(check());
    return disk_.open(path, mode);
  }
  Result<bool> exists(const std::string& path) override {
    NARU_TRY(check());
    return disk_.exists(path);
  }
  Result<std::vector<DirectoryEntry>> list(const std::string& directory) override {
    NARU_TRY(check());
    return disk_.list(directory);
  }
  Status create_directories(const std::string& directory) override {
    NARU_TRY(check());
    return disk_.create_directories(directory);
  }
  Status rename(const std::string& from, const std::string& to) override {
    NARU_TRY(check());
    return disk_.rename(from, to);
  }
  Status remove_file(const std::string& path) override {
    NARU_TRY(check());
    return disk_.remove_file(path);
  }
  Status remove_directory(const std::string& directory) override {
    NARU_TRY(check());
    return disk_.remove_directory(directory);
  }
  Status sync_directory(const std::string& directory) override {
    NARU_TRY(check());
    return disk_.sync_directory(directory);
  }
  Result<DiskSpace> space(const std::string& directory) override {
    NARU_TRY(check());
    return disk_.space(directory);
  }
  Result<std::unique_ptr<DirectoryLock>> lock_directory(const std::string& directory) override {
    NARU_TRY(check());
    return disk_.lock_directory(directory);
  }
  uint64_t open_file_limit() const override { return disk_.open_file_limit(); }

 private:
  Status check() const { return alive_ ? Status() : Status(ErrorCode::io_error, "the process is dead"); }

  SimulatedFileSystem& disk_;
  const bool& alive_;
};

class SimulatedProcess::Sockets final : public Transport {
 public:
  Sockets(SimulatedNetwork& network, NetworkPeer& peer, const bool& alive)
      : network_(network), peer_(peer), alive_(alive) {}

  Result<std::unique_ptr<Listener>> listen(const Endpoint& address,
                                           UniqueFunction<void(std::unique_ptr<Stream>)> accepted) override {
    if (!alive_) return failure(ErrorCode::io_error, "the process is dead");
    return network_.listen(peer_, address, std::move(accepted));
  }

  using Transport::connect;
  Task<Result<std::unique_ptr<Stream>>> connect(Endpoint address, CancelToken cancelled) override {
    struct Attempt {
      Wakeup ended;  // or was cancelled
      bool abandoned = false;
      Result<std::unique_ptr<Stream>> stream = failure(Status(ErrorCode::cancelled));
    };
    const auto attempt = std::make_shared<Attempt>();
    network_.connect(peer_, std::move(address), [attempt](Result<std::unique_ptr<Stream>> stream) {
      if (!attempt->abandoned) {
        attempt->stream = std::move(stream);
      } else if (stream) {
        (*stream)->close();
      }
      attempt->ended.wake();
    });
    const CancelCallback on_cancel(cancelled, [attempt] { attempt->ended.wake(); });
    co_await attempt->ended.event();
    attempt->abandoned = true;
    if (!alive_) co_return failure(ErrorCode::io_error, "the process is dead");
    co_return std::move(attempt->stream);
  }

 private:
  SimulatedNetwork& network_;
  NetworkPeer& peer_;
  const bool& alive_;
};

SimulatedProcess::SimulatedProcess(SimulatedNode& node, SimulatedNetwork& network, SimulatedEventQueue::Owner owner)
    : node_(node),
      network_(network),
      random_(network.random().next()),
      scheduler_(network.queue(), network.random(), owner),
      peer_{node.host(), scheduler_},
      files_(std::make_unique<Files>(node.disk(), alive_)),
      transport_(std::make_unique<Sockets>(network, peer_, alive_)) {}

SimulatedProcess::~SimulatedProcess() {
  if (alive_) node_.kill();
}

void SimulatedProcess::pause(Duration length) {
  SimulatedEventQueue& queue = network_.queue();
  queue.pause(scheduler_.owner(), queue.now() + length);
}

Seams SimulatedProcess::seams() {
  return {node_.clock(), random_, *files_, *transport_, scheduler_};
}

void SimulatedProcess::die(bool silently) {
  alive_ = false;
  network_.abandon(peer_, silently);
}

}  // namespace naru
