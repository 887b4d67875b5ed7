// What the kernel charges for the same work: the floors that the broker is compared with. One thread, one epoll loop.
//
//   bench_floor sink FILE          frames in, CRC32C over each, written to FILE through the page cache, 8 bytes back
//   bench_floor send FILE sendfile|copy
//                                  asked for (position, length), answers with a length and the bytes of FILE
//   bench_floor echo               sends back what came
//   bench_floor kafka FILE         sink, speaking as much Kafka as a producer needs (topic "bench", one partition)
//
// The first line of output is "port N". It ends when its stdin ends.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/sockets.h"
#include "foundation/bytes.h"
#include "foundation/crc32c.h"
#include "kafka_protocol/frame.h"
#include "kafka_protocol/messages/api_versions_response.h"
#include "kafka_protocol/messages/metadata_response.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "kafka_protocol/request_header.h"

namespace naru::bench {
namespace {

constexpr size_t kReadBytes = 2 << 20;

// Printed in the end, so that no compiler leaves the work out.
uint32_t all_checksums = 0;

struct Client {
  int socket;
  std::vector<char> buffer;
  size_t filled = 0;
};

// Takes what is complete from the buffer's front; returns how many bytes that was.
using Consume = std::function<size_t(Client&)>;

void serve(const Consume& consume) {
  const int listener = listen_and_tell();
  const int poll = ::epoll_create1(0);
  const auto watch = [poll](int descriptor) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
    if (::epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) != 0) die("epoll_ctl");
  };
  watch(listener);
  watch(STDIN_FILENO);
  std::map<int, Client> clients;
  std::vector<epoll_event> events(64);
  while (true) {
    const int ready = ::epoll_wait(poll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      const int descriptor = events[i].data.fd;
      if (descriptor == STDIN_FILENO) {
        std::fprintf(stderr, "checksum %08x\n", all_checksums);
        return;
      }
      if (descriptor == listener) {
        const int accepted = ::accept4(listener, nullptr, nullptr, 0);
        if (accepted < 0) continue;
        send_at_once(accepted);
        clients.emplace(accepted, Client{.socket = accepted, .buffer = std::vector<char>(kReadBytes)});
        watch(accepted);
        continue;
      }
      Client& client = clients.at(descriptor);
      const ssize_t got =
          ::recv(descriptor, client.buffer.data() + client.filled, client.buffer.size() - client.filled, MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN) continue;
      if (got <= 0) {
        ::close(descriptor);
        clients.erase(descriptor);
        continue;
      }
      client.filled += static_cast<size_t>(got);
      const size_t used = consume(client);
      if (used > 0 && used < client.filled) {
        std::memmove(client.buffer.data(), client.buffer.data() + used, client.filled - used);
      }
      client.filled -= used;
    }
  }
}

// Calls `frame` for each whole frame (its bytes without the size).
size_t for_each_frame(Client& client, const std::function<void(BytesView)>& frame) {
  size_t used = 0;
  while (client.filled - used >= 4) {
    const size_t size = big_endian_at(client.buffer.data() + used);
    if (4 + size > client.buffer.size()) client.buffer.resize(4 + size);
    if (client.filled - used < 4 + size) break;
    frame(BytesView(reinterpret_cast<const std::byte*>(client.buffer.data()) + used + 4, size));
    used += 4 + size;
  }
  return used;
}

int open_output(const char* path) {
  const int file = ::open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0) die(path);
  return file;
}

void store(int file, BytesView bytes) {
  all_checksums ^= crc32c(bytes);
  if (::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) die("write");
}

void run_sink(const char* path) {
  const int file = open_output(path);
  serve([file](Client& client) {
    return for_each_frame(client, [file, &client](BytesView frame) {
      store(file, frame);
      const uint32_t answer[2] = {htonl(4), 0};
      write_all(client.socket, answer, sizeof answer);
    });
  });
}

void send_with_sendfile(int socket, int file, off_t position, size_t length) {
  while (length > 0) {
    const ssize_t sent = ::sendfile(socket, file, &position, length);
    if (sent <= 0) die("sendfile");
    length -= static_cast<size_t>(sent);
  }
}

void send_with_copy(int socket, int file, off_t position, size_t length) {
  static std::vector<char> block(1 << 20);
  while (length > 0) {
    const ssize_t got = ::pread(file, block.data(), std::min(block.size(), length), position);
    if (got <= 0) die("pread");
    write_all(socket, block.data(), static_cast<size_t>(got));
    position += got;
    length -= static_cast<size_t>(got);
  }
}

void run_send(const char* path, std::string_view way) {
  const int file = ::open(path, O_RDONLY);
  if (file < 0) die(path);
  const auto send = way == "sendfile" ? send_with_sendfile : send_with_copy;
  serve([file, send](Client& client) {
    constexpr size_t kRequestBytes = 12;
    size_t used = 0;
    for (; client.filled - used >= kRequestBytes; used += kRequestBytes) {
      const char* request = client.buffer.data() + used;
      const uint32_t length = big_endian_at(request + 8);
      const uint32_t answer = htonl(length);
      if (::send(client.socket, &answer, sizeof answer, MSG_NOSIGNAL | MSG_MORE) != sizeof answer) die("send");
      const auto position = static_cast<off_t>((uint64_t{big_endian_at(request)} << 32) | big_endian_at(request + 4));
      send(client.socket, file, position, length);
    }
    return used;
  });
}

void run_echo() {
  serve([](Client& client) {
    write_all(client.socket, client.buffer.data(), client.filled);
    return client.filled;
  });
}

template <class Response>
void answer(Client& client, const kafka::DecodedRequestHeader& header, const Response& response) {
  const auto frame = kafka::encode_response_frame(response, header.version(), header.header.correlation_id);
  write_all(client.socket, frame.bytes.data(), frame.bytes.size());
}

kafka::ApiVersionsResponse offered_versions() {
  kafka::ApiVersionsResponse response;
  for (const kafka::ApiRow& row : kafka::kApiTable) {
    response.api_keys.push_back(
        {.api_key = std::to_underlying(row.key), .min_version = row.min_version, .max_version = row.max_version});
  }
  return response;
}

kafka::MetadataResponse one_topic(uint16_t port) {
  kafka::MetadataResponse response;
  response.brokers.push_back({.node_id = BrokerId(0), .host = "127.0.0.1", .port = port});
  response.controller_id = BrokerId(0);
  auto& topic = response.topics.emplace_back();
  topic.name = "bench";
  auto& partition = topic.partitions.emplace_back();
  partition.leader_id = BrokerId(0);
  partition.replica_nodes = {BrokerId(0)};
  partition.isr_nodes = {BrokerId(0)};
  return response;
}

uint16_t port_of(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

void run_kafka(const char* path) {
  const int file = open_output(path);
  serve([file](Client& client) {
    return for_each_frame(client, [file, &client](BytesView frame) {
      kafka::WireReader reader(frame);
      const auto header = kafka::decode_request_header(reader);
      if (!header) die("request header");
      switch (header->api->key) {
        case kafka::ApiKey::api_versions:
          return answer(client, *header, offered_versions());
        case kafka::ApiKey::metadata:
          return answer(client, *header, one_topic(port_of(client.socket)));
        default:
          break;
      }
      store(file, frame);
      kafka::ProduceResponse response;
      auto& topic = response.responses.emplace_back();
      topic.name = "bench";
      topic.partition_responses.emplace_back().base_offset = Offset(0);
      answer(client, *header, response);
    });
  });
}

}  // namespace
}  // namespace naru::bench

int main(int count, char** arguments) {
  using namespace naru::bench;
  const std::vector<std::string_view> words(arguments + 1, arguments + count);
  if (words.size() == 2 && words[0] == "sink") return run_sink(arguments[2]), 0;
  if (words.size() == 3 && words[0] == "send") return run_send(arguments[2], words[2]), 0;
  if (words.size() == 1 && words[0] == "echo") return run_echo(), 0;
  if (words.size() == 2 && words[0] == "kafka") return run_kafka(arguments[2]), 0;
  std::fprintf(stderr, "usage: bench_floor sink FILE | send FILE sendfile|copy | echo | kafka FILE\n");
  return 2;
}
