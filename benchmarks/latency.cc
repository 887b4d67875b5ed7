#include <sys/epoll.h>
#include <sys/prctl.h>

#include <functional>
#include <string>

#include "benchmarks/kafka_frames.h"
#include "benchmarks/load.h"
#include "benchmarks/measurement.h"
#include "record_format/record_batch.h"

namespace naru::bench {
namespace {

// A sender and a reader on one loop. Each message carries the time at which it was due.
class OpenLoop {
 public:
  explicit OpenLoop(const LatencyLoad& load) : load_(load), interval_ns_(1'000'000'000 / load.rate) {
    ::prctl(PR_SET_TIMERSLACK, 1);
    latencies_.reserve(static_cast<size_t>(load.rate) * load.seconds);
  }

  // `send` gets the due time; `drain_answers` and `read` take what has arrived.
  void run(int sender, int reader, const std::function<void(int64_t)>& send, const std::function<void()>& drain_answers,
           const std::function<void()>& read) {
    const int poll = ::epoll_create1(0);
    for (const int socket : {sender, reader}) {
      epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
      if (::epoll_ctl(poll, EPOLL_CTL_ADD, socket, &event) != 0) die("epoll_ctl");
    }
    const int64_t total = int64_t{load_.rate} * load_.seconds;
    const int64_t start = now_ns();
    int64_t sent = 0;
    while (static_cast<int64_t>(latencies_.size()) + ignored_ < total) {
      while (sent < total && start + sent * interval_ns_ <= now_ns()) {
        send(start + sent * interval_ns_);
        ++sent;
      }
      const int64_t wait = sent < total ? std::max<int64_t>(start + sent * interval_ns_ - now_ns(), 0) : 1'000'000'000;
      const timespec timeout{.tv_sec = wait / 1'000'000'000, .tv_nsec = wait % 1'000'000'000};
      epoll_event events[2];
      const int ready = ::epoll_pwait2(poll, events, 2, &timeout, nullptr);
      for (int i = 0; i < ready; ++i) {
        if (events[i].data.fd == reader) {
          read();
        } else {
          drain_answers();
        }
      }
    }
    print_percentiles(latencies_);
  }

  void arrived(int64_t due) {
    // The first second warms up caches and connections.
    if (ignored_ < load_.rate) {
      ++ignored_;
    } else {
      latencies_.push_back(now_ns() - due);
    }
  }

 private:
  const LatencyLoad& load_;
  const int64_t interval_ns_;
  int64_t ignored_ = 0;
  std::vector<int64_t> latencies_;
};

void discard_input(int socket) {
  static char buffer[64 << 10];
  if (::recv(socket, buffer, sizeof buffer, MSG_DONTWAIT) == 0) die("the server closed the connection");
}

}  // namespace

void run_kafka_latency(const LatencyLoad& load) {
  const Bytes batch = make_batch(1, load.message_bytes);
  Bytes frame = produce_frame(load.topic, 1, batch);
  // The batch is at the end of the frame, but for the empty tagged fields behind it.
  const size_t batch_at = static_cast<size_t>(std::ranges::search(frame, batch).begin() - frame.begin());
  const size_t due_at = first_value_position(load.message_bytes);
  const int sender = connect_to(load.port);
  const int reader = connect_to(load.port);
  int64_t next_offset = 0;
  std::vector<std::byte> answer;
  const auto ask = [&] {
    const Bytes request = fetch_frame(load.topic, next_offset, 1 << 20, 500);
    write_all(reader, request.data(), request.size());
  };
  ask();
  OpenLoop loop(load);
  loop.run(
      sender, reader,
      [&](int64_t due) {
        std::byte* stored = frame.data() + batch_at;
        std::memcpy(stored + due_at, &due, sizeof due);
        seal_batch(MutableBytesView(stored, batch.size()));
        write_all(sender, frame.data(), frame.size());
      },
      [&] { discard_input(sender); },
      [&] {
        const Bytes records = fetched_records(read_frame(reader, answer));
        const int64_t count = static_cast<int64_t>(records.size() / batch.size());
        next_offset += count;
        ask();
        for (int64_t i = 0; i < count; ++i) {
          int64_t due;
          std::memcpy(&due, records.data() + i * batch.size() + due_at, sizeof due);
          loop.arrived(due);
        }
      });
}

namespace {

// Reads what a blocked XREAD answers: the entries of one stream, each with one field. Only as much RESP as that needs.
class RedisReader {
 public:
  RedisReader(int socket, size_t value_bytes) : socket_(socket), value_bytes_(value_bytes) {}

  // Calls `value` for each entry and returns the last id.
  std::string read_entries(const std::function<void(const char*)>& value) {
    expect('*');  // streams
    expect('*');  // name and entries
    read_text();  // name
    const long entries = expect('*');
    std::string id;
    for (long i = 0; i < entries; ++i) {
      expect('*');
      id = read_text();
      expect('*');
      read_text();  // the field's name
      const std::string payload = read_text();
      if (payload.size() != value_bytes_) die("an entry of another size");
      value(payload.data());
    }
    return id;
  }

 private:
  void fill() {
    buffer_.erase(0, position_);
    position_ = 0;
    char block[64 << 10];
    const ssize_t got = ::recv(socket_, block, sizeof block, 0);
    if (got <= 0) die("recv");
    buffer_.append(block, static_cast<size_t>(got));
  }
  std::string read_line() {
    size_t end;
    while ((end = buffer_.find("\r\n", position_)) == std::string::npos) fill();
    std::string line = buffer_.substr(position_, end - position_);
    position_ = end + 2;
    return line;
  }
  long expect(char kind) {
    const std::string line = read_line();
    if (line.empty() || line[0] != kind) {
      std::fprintf(stderr, "redis answered %s\n", line.c_str());
      std::exit(1);
    }
    return std::atol(line.c_str() + 1);
  }
  std::string read_text() {
    const auto size = static_cast<size_t>(expect('$'));
    while (buffer_.size() - position_ < size + 2) fill();
    std::string text = buffer_.substr(position_, size);
    position_ += size + 2;
    return text;
  }

  int socket_;
  size_t value_bytes_;
  std::string buffer_;
  size_t position_ = 0;
};

}  // namespace

void run_redis_latency(const LatencyLoad& load) {
  const std::string head = "*5\r\n$4\r\nXADD\r\n$" + std::to_string(load.topic.size()) + "\r\n" + load.topic +
                           "\r\n$1\r\n*\r\n$1\r\nd\r\n$" + std::to_string(load.message_bytes) + "\r\n";
  std::string command = head + std::string(load.message_bytes, 'x') + "\r\n";
  const int sender = connect_to(load.port);
  const int reader = connect_to(load.port);
  std::string last_id = "0-0";
  const auto ask = [&] {
    const std::string request = "*6\r\n$5\r\nXREAD\r\n$5\r\nBLOCK\r\n$1\r\n0\r\n$7\r\nSTREAMS\r\n$" +
                                std::to_string(load.topic.size()) + "\r\n" + load.topic + "\r\n$" +
                                std::to_string(last_id.size()) + "\r\n" + last_id + "\r\n";
    write_all(reader, request.data(), request.size());
  };
  ask();
  RedisReader answers(reader, load.message_bytes);
  std::vector<int64_t> due_times;
  OpenLoop loop(load);
  loop.run(
      sender, reader,
      [&](int64_t due) {
        std::memcpy(command.data() + head.size(), &due, sizeof due);
        write_all(sender, command.data(), command.size());
      },
      [&] { discard_input(sender); },
      [&] {
        due_times.clear();
        last_id = answers.read_entries([&](const char* payload) {
          int64_t due;
          std::memcpy(&due, payload, sizeof due);
          due_times.push_back(due);
        });
        ask();
        for (const int64_t due : due_times) loop.arrived(due);
      });
}

void run_rounds(const RoundLoad& load) {
  const Bytes frame = produce_frame(load.topic, load.partitions, make_batch(1, load.message_bytes), load.acks);
  const int socket = connect_to(load.port);
  std::vector<std::byte> answer;
  std::vector<int64_t> latencies;
  const int warm_up = std::max(load.rounds / 10, 1);
  for (int round = 0; round < load.rounds + warm_up; ++round) {
    const int64_t start = now_ns();
    write_all(socket, frame.data(), frame.size());
    const BytesView got = read_frame(socket, answer);
    const int64_t end = now_ns();
    check_produced(got);
    if (round >= warm_up) latencies.push_back(end - start);
  }
  print_percentiles(latencies);
}

}  // namespace naru::bench
