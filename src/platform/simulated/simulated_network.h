// The network of a simulated world: who listens where, which links are up, and all connections.
//
// A connection is two byte streams with TCP's promises and no more: order is kept, chunk boundaries are not, bytes take
// a random time, buffers are finite, and a reset loses an unknown suffix. A blocked link holds bytes back until it is
// unblocked, as retransmission would. Hosts are names of machines; "localhost" and "127.0.0.1" mean the caller's own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "platform/random.h"
#include "platform/simulated/simulated_event_queue.h"
#include "platform/simulated/simulated_scheduler.h"
#include "platform/transport.h"

namespace naru {

class SimulatedConnection;

struct NetworkOptions {
  Duration delay_min = 20us;  // of each chunk
  Duration delay_max = 2ms;
  size_t buffer_bytes = size_t{256} * 1024;  // of one direction: sent and not yet read
  uint64_t cut_one_in = 0;                   // delivered chunks after which the connection breaks; 0: never
  uint64_t refuse_one_in = 0;                // connects that fail; 0: none
  Duration notice_max = 2s;                  // until a side learns that its connection broke
  Duration connect_timeout = 10s;            // of a connect over a blocked link
};

// One process on one machine, as the network sees it. Lives as long as the process.
struct NetworkPeer {
  std::string host;
  SimulatedScheduler& scheduler;
};

class SimulatedNetwork {
 public:
  using Accepted = UniqueFunction<void(std::unique_ptr<Stream>)>;
  using Connected = UniqueFunction<void(Result<std::unique_ptr<Stream>>)>;

  SimulatedNetwork(SimulatedEventQueue& queue, Random& random) : queue_(queue), random_(random) {}

  NetworkOptions options;

  Result<std::unique_ptr<Listener>> listen(NetworkPeer& peer, Endpoint address, Accepted accepted);
  void connect(NetworkPeer& peer, Endpoint address, Connected connected);

  // One direction only; a partition blocks both.
  void block(const std::string& from, const std::string& to);
  void unblock(const std::string& from, const std::string& to);
  void unblock_all();
  // Bytes take up to so long in this direction; until heal_slow_links().
  void slow_down(const std::string& from, const std::string& to, Duration delay_max);
  void heal_slow_links() { slow_.clear(); }
  void heal_slow_link(const std::string& from, const std::string& to) { slow_.erase({from, to}); }
  bool is_blocked(const std::string& from, const std::string& to) const { return blocked_.contains({from, to}); }

  // Breaks connections; each side learns it at its own random moment.
  void cut_between(const std::string& host, const std::string& other);
  void cut_all();
  // The process died: its ends are useless at once. Its peers hear of it, or with `silently` (the whole machine is
  // gone) only if they send something.
  void abandon(const NetworkPeer& peer, bool silently);
  // The process of this stream will send no more, but reads on.
  static void half_close(Stream& stream);

  SimulatedEventQueue& queue() { return queue_; }
  Random& random() { return random_; }
  Duration random_delay(const std::string& from, const std::string& to);
  Duration random_delay() { return random_between(options.delay_min, options.delay_max); }
  Duration random_between(Duration from, Duration to);

 private:
  struct ListenerState;
  class OpenListener;

  std::shared_ptr<ListenerState> find_listener(const Endpoint& address) const;
  void establish(NetworkPeer& client, const Endpoint& address, const std::shared_ptr<ListenerState>& listener,
                 Connected connected);
  std::vector<std::shared_ptr<SimulatedConnection>> live_connections();

  SimulatedEventQueue& queue_;
  Random& random_;
  std::map<std::pair<std::string, uint16_t>, std::shared_ptr<ListenerState>> listeners_;
  std::set<std::pair<std::string, std::string>> blocked_;
  std::map<std::pair<std::string, std::string>, Duration> slow_;  // the longest delay
  std::vector<std::weak_ptr<SimulatedConnection>> connections_;
  uint16_t next_port_ = 40'000;
  uint64_t next_stream_ = 1;
};

}  // namespace naru
