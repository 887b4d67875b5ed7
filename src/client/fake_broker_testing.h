// For tests: a broker that says what a test wants it to say, on a machine of a simulated world.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "coordination_store/simulated/run_in_world.h"
#include "kafka_protocol/frame.h"
#include "kafka_protocol/messages/api_versions_request.h"
#include "kafka_protocol/messages/api_versions_response.h"
#include "kafka_protocol/request_header.h"
#include "network/frame_reader.h"
#include "network/output_buffer.h"
#include "platform/simulated/simulated_world.h"

namespace naru::client {

class FakeBroker {
 public:
  struct Request {
    int16_t version = 0;
    int32_t correlation_id = 0;
    SharedBytes frame;

    // The body; points into the frame.
    template <class Message>
    Message body() const {
      kafka::WireReader reader(frame.view());
      const auto header = kafka::decode_request_header(reader).value();
      Message message;
      decode(reader, message, header.version());
      return message;
    }
    template <class Response>
    Bytes answer(const Response& response) const {
      return kafka::encode_response_frame(response, version, correlation_id).bytes;
    }
  };
  // The bytes to send; nothing: no answer, ever. An empty answer closes the connection.
  using Handler = std::function<std::optional<Bytes>(const Request&)>;

  FakeBroker(SimulatedNode& node, uint16_t port) : process_(node.start()) {
    on(kafka::ApiKey::api_versions, [](const Request& request) {
      kafka::ApiVersionsResponse response;
      for (const kafka::ApiRow& row : kafka::kApiTable) {
        response.api_keys.push_back({static_cast<int16_t>(row.key), row.min_advertised_version, row.max_version});
      }
      return request.answer(response);
    });
    listener_ = process_->seams()
                    .transport
                    .listen({node.host(), port},
                            [this](std::unique_ptr<Stream> stream) {
                              clients_.push_back(std::make_unique<Client>(*this, std::move(stream)));
                            })
                    .value();
  }

  void on(kafka::ApiKey key, Handler handler) { handlers_[static_cast<int16_t>(key)] = std::move(handler); }
  size_t connections() const { return clients_.size(); }
  size_t requests(kafka::ApiKey key) { return counts_[static_cast<int16_t>(key)]; }

 private:
  class Client final : public StreamObserver {
   public:
    Client(FakeBroker& broker, std::unique_ptr<Stream> stream) : broker_(broker), stream_(std::move(stream)) {
      stream_->start(this);
    }
    void on_writable() override {
      if (open_) flush();
    }
    void on_readable() override {
      while (open_) {
        const IoResult got = stream_->read_some(frames_.space());
        if (got.kind == IoResult::Kind::would_block) return;
        if (got.kind != IoResult::Kind::progress) return close();
        frames_.received(got.bytes);
        while (open_) {
          auto next = frames_.next();
          if (!next.frame) break;
          respond(*next.frame);
        }
      }
    }

   private:
    void respond(const SharedBytes& frame) {
      kafka::WireReader reader(frame.view());
      const auto key = ByteReader(frame.view()).read_int<int16_t>();
      const auto header = kafka::decode_request_header(reader).value();
      ++broker_.counts_[key];
      const auto handler = broker_.handlers_.find(key);
      if (handler == broker_.handlers_.end()) return;
      const auto answer = handler->second({header.version(), header.header.correlation_id, frame});
      if (!answer) return;
      if (answer->empty()) return close();
      output_.push(Response(*answer));
      flush();
    }
    void flush() {
      const IoResult sent = output_.drain_into(*stream_);
      if (sent.kind == IoResult::Kind::would_block) stream_->want_writable();
      if (sent.kind == IoResult::Kind::failed) close();
    }
    void close() {
      open_ = false;
      stream_->close();
    }

    FakeBroker& broker_;
    std::unique_ptr<Stream> stream_;
    FrameReader frames_{1 << 20};
    OutputBuffer output_;
    bool open_ = true;
  };

  std::unique_ptr<SimulatedProcess> process_;
  std::map<int16_t, Handler> handlers_;
  std::map<int16_t, size_t> counts_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace naru::client
