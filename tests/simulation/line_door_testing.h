// A door with a protocol of lines, so that it is known that a listener may speak anything:
//   USER NAME        the caller is NAME from now on
//   WHO              the caller's name and listener
//   END TOPIC INDEX  where the partition ends
// Answers are lines, too; what is refused begins with "-".
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/task_group.h"
#include "broker/broker_services.h"
#include "broker/hosted_partitions.h"
#include "network/connection.h"
#include "network/door.h"
#include "network/line_framing_testing.h"
#include "network/output_buffer.h"
#include "replication/partition.h"

namespace naru::simulation {

class LineDoor final : public Door {
 public:
  LineDoor(const BrokerServices& services, ConnectionSettings settings) : services_(services), settings_(settings) {}

  ConnectionSettings settings() const override { return settings_; }
  std::unique_ptr<Framing> make_framing() const override { return std::make_unique<LineFraming>(); }
  void process(Request request) override { tasks_.spawn(answer(std::move(request))); }

 private:
  Task<void> answer(Request request) {
    const Milliseconds delay = services_.quotas.charge(*request.caller, {});
    const std::string line =
        delay > Milliseconds(0) ? fmt::format("-slow down for {} ms", delay.count()) : co_await answer_line(request);
    if (delay > Milliseconds(0)) request.connection->mute_until(services_.clock.now() + delay);
    const BytesView bytes = as_bytes(line);
    Response response{Bytes(bytes.begin(), bytes.end())};
    std::get<Bytes>(response.chunks.front()).push_back(std::byte{'\n'});
    request.connection->respond(request.slot, std::move(response));
  }

  Task<std::string> answer_line(const Request& request) {
    const std::vector<std::string> words = split(as_text(request.frame.view()));
    const Caller& caller = *request.caller;
    if (words.size() == 2 && words[0] == "USER") {
      Caller named = caller;
      named.principal.name = words[1];
      request.connection->set_caller(std::make_shared<const Caller>(std::move(named)));
      co_return "+hello";
    }
    if (words.size() == 1 && words[0] == "WHO") {
      co_return fmt::format("+{} {} {}", caller.principal.name, caller.listener, caller.address.host);
    }
    if (words.size() == 3 && words[0] == "END") co_return co_await end_of(caller, words[1], words[2]);
    co_return "-unknown";
  }

  Task<std::string> end_of(const Caller& caller, std::string topic, std::string index) {
    if (!services_.authorizer.authorize(caller, Operation::read, ResourceType::topic, topic)) co_return "-denied";
    const HostedPartition hosted = services_.partitions.find(topic, PartitionIndex(std::stoi(index)));
    if (!hosted) co_return "-not here";
    const auto end = co_await hosted.partition->with_log(
        [](const LogAccess& access) -> Result<Offset> { return access.log.end_offset(); });
    co_return end ? fmt::format("+{}", *end) : "-offline";
  }

  static std::vector<std::string> split(std::string_view line) {
    std::vector<std::string> words(1);
    for (const char c : line) {
      if (c == ' ') {
        words.emplace_back();
      } else {
        words.back() += c;
      }
    }
    return words;
  }

  const BrokerServices& services_;
  const ConnectionSettings settings_;
  TaskGroup tasks_;
};

// One question after the other.
class LineClient final : public StreamObserver {
 public:
  static Task<std::unique_ptr<LineClient>> connect(Seams seams, Endpoint address) {
    auto client = std::make_unique<LineClient>(seams);
    client->stream_ = (co_await seams.transport.connect(std::move(address))).value();
    client->stream_->start(client.get());
    co_return client;
  }
  explicit LineClient(Seams seams) : seams_(seams) {}
  ~LineClient() override { stream_->close(); }

  // The answer; empty when the connection is closed.
  Task<std::string> ask(std::string line) {
    line += '\n';
    const BytesView bytes = as_bytes(line);
    output_.push(Response(Bytes(bytes.begin(), bytes.end())));
    flush();
    while (open_ && received_.find('\n') == std::string::npos) {
      ignore(co_await sleep_until(seams_.scheduler, seams_.clock.now() + 1ms));
    }
    const size_t end = received_.find('\n');
    if (end == std::string::npos) co_return "";
    std::string answer = received_.substr(0, end);
    received_.erase(0, end + 1);
    co_return answer;
  }

 private:
  void on_readable() override {
    Bytes space(1000);
    const IoResult got = stream_->read_some(space);
    if (got.kind == IoResult::Kind::progress) received_ += as_text(BytesView(space).first(got.bytes));
    if (got.kind != IoResult::Kind::end_of_stream && got.kind != IoResult::Kind::failed) return;
    open_ = false;
    stream_->want_readable(false);
  }

  void on_writable() override { flush(); }
  void flush() {
    if (output_.drain_into(*stream_).kind == IoResult::Kind::would_block) stream_->want_writable();
  }

  Seams seams_;
  std::unique_ptr<Stream> stream_;
  OutputBuffer output_;
  std::string received_;
  bool open_ = true;
};

}  // namespace naru::simulation
