#include <sys/epoll.h>

#include "benchmarks/kafka_frames.h"
#include "benchmarks/load.h"
#include "benchmarks/measurement.h"

namespace naru::bench {
namespace {

// Answers have the same size each time, so that reading them costs the generator next to nothing.
void run_closed_loop(const RequestLoad& load, BytesView request, size_t answer_bytes, std::vector<int> sockets) {
  const int poll = ::epoll_create1(0);
  std::vector<size_t> missing(1024, answer_bytes);
  for (const int socket : sockets) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
    if (::epoll_ctl(poll, EPOLL_CTL_ADD, socket, &event) != 0) die("epoll_ctl");
  }
  std::vector<char> buffer(64 << 10);
  std::vector<epoll_event> events(sockets.size());
  const int64_t start = now_ns();
  int sent = 0;
  int answered = 0;
  for (const int socket : sockets) {
    write_all(socket, request.data(), request.size());
    ++sent;
  }
  while (answered < load.count) {
    const int ready = ::epoll_wait(poll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      const int socket = events[i].data.fd;
      const ssize_t got = ::recv(socket, buffer.data(), missing[socket], 0);
      if (got <= 0) die("recv");
      missing[socket] -= static_cast<size_t>(got);
      if (missing[socket] > 0) continue;
      missing[socket] = answer_bytes;
      ++answered;
      if (sent < load.count) {
        write_all(socket, request.data(), request.size());
        ++sent;
      }
    }
  }
  const double seconds = static_cast<double>(now_ns() - start) / 1e9;
  std::printf("{\"count\": %d, \"seconds\": %.6f, \"per_second\": %.0f}\n", answered, seconds, answered / seconds);
}

std::vector<int> connect_all(const RequestLoad& load) {
  std::vector<int> sockets;
  for (int i = 0; i < load.connections; ++i) sockets.push_back(connect_to(load.port));
  return sockets;
}

}  // namespace

void run_echo(const RequestLoad& load) {
  const Bytes message(load.message_bytes, std::byte('x'));
  run_closed_loop(load, message, message.size(), connect_all(load));
}

void run_small_produce(const RequestLoad& load) {
  const Bytes frame = produce_frame(load.topic, 1, make_batch(1, load.message_bytes));
  auto sockets = connect_all(load);
  // The first answer tells how long answers are.
  write_all(sockets[0], frame.data(), frame.size());
  std::vector<std::byte> answer;
  const BytesView first = read_frame(sockets[0], answer);
  check_produced(first);
  run_closed_loop(load, frame, 4 + first.size(), std::move(sockets));
}

}  // namespace naru::bench
