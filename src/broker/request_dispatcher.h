// The door for the Kafka protocol. From frames to handlers: header, version check, rights of brokers, quotas, times,
// slow requests.
#pragma once

#include <memory>

#include "async/task_group.h"
#include "broker/broker_services.h"
#include "broker/forwarded_requests.h"
#include "broker/request_context.h"
#include "broker/request_metrics.h"
#include "kafka_protocol/request_header.h"
#include "network/connection.h"
#include "network/door.h"
#include "observability/log_rate.h"
#include "observability/slow_request_log.h"

namespace naru {

// Thread: process() on the connections' loops; requests go on wherever their events happen.
class RequestDispatcher final : public Door, public ForwardedRequests {
 public:
  RequestDispatcher(const BrokerServices& services, RequestMetrics& metrics, ConnectionSettings settings);

  ConnectionSettings settings() const override { return settings_; }
  std::unique_ptr<Framing> make_framing() const override { return std::make_unique<SizePrefixedFraming>(); }
  void process(Request request) override { tasks_.spawn(handle(std::move(request))); }

  Task<Answer> answer_forwarded(const RequestContext& envelope, CallerPtr caller, SharedBytes frame) override;

  // Any thread.
  void set_slow_request(Duration threshold) { slow_requests_.set_threshold(threshold); }

  // Returns when every request has been answered. No process() afterwards.
  Task<void> drain() { return tasks_.join(); }

 private:
  Task<void> handle(Request request);
  // Where a request came from, and on which way.
  struct Origin {
    const std::shared_ptr<Connection>& connection;
    const Caller& caller;
    const SharedBytes& frame;
    MonotonicTime received;
    bool was_forwarded = false;
  };
  Task<Answer> answer(Origin origin, const kafka::DecodedRequestHeader& header, kafka::WireReader& body);

  void tell_of_no_answer(const RequestContext& context, const Response& response);

  const BrokerServices& services_;
  RequestMetrics& metrics_;
  const ConnectionSettings settings_;
  SlowRequestLog slow_requests_;
  LogRate no_answer_lines_{1};
  TaskGroup tasks_;
};

}  // namespace naru
