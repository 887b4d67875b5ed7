#include "coordination_store/etcd/http_client.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "async/one_shot.h"
#include "coordination_store/etcd/curl_library.h"

namespace naru {
namespace {

constexpr size_t kMaxBodyBytes = 512u << 20;
constexpr size_t kMaxLineBytes = 64u << 10;
constexpr long kConnectTimeoutMs = 2000;
constexpr long kKeepAliveSeconds = 5;

// One request and what has come back of it. The client's thread only, once it was handed over.
struct Transfer {
  HttpRequest request;
  UniqueFunction<void(HttpAnswer)> done;        // of a plain request
  UniqueFunction<void(std::string_view)> line;  // of a stream
  HttpClient::StreamId stream = 0;
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  std::string received;

  size_t receive(const char* data, size_t size) {
    if (stream == 0) {
      if (received.size() + size > kMaxBodyBytes) return 0;
      received.append(data, size);
      return size;
    }
    std::string_view rest(data, size);
    for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      keep(rest.substr(0, end));
      line(received);
      received.clear();
      rest.remove_prefix(end + 1);
    }
    keep(rest);
    return size;
  }

 private:
  void keep(std::string_view part) { received.append(part.substr(0, kMaxLineBytes - received.size())); }
};

size_t on_received(char* data, size_t size, size_t count, void* transfer) {
  return static_cast<Transfer*>(transfer)->receive(data, size * count);
}

HttpAnswer::Outcome outcome_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpAnswer::Outcome::answered;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_URL_MALFORMAT:
      return HttpAnswer::Outcome::not_sent;
    default:
      return HttpAnswer::Outcome::unknown;
  }
}

}  // namespace

// What the thread works on.
class HttpClient::Engine {
 public:
  Engine(const CurlLibrary& curl, const Clock& clock)
      : curl_(curl), clock_(clock), multi_(curl.multi_init()), thread_([this] { run(); }) {}
  ~Engine() {
    stop_thread();
    curl_.multi_cleanup(multi_);
  }

  // What runs fails, and whatever comes later.
  void abort() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    curl_.multi_wakeup(multi_);
  }
  void stop_thread() {
    if (!thread_.joinable()) return;
    abort();
    thread_.join();
  }

  StreamId submit(std::unique_ptr<Transfer> transfer) {
    std::unique_lock lock(mutex_);
    const StreamId id = transfer->stream = transfer->line ? next_stream_++ : 0;
    if (stopping_) {
      lock.unlock();
      transfer->done({.outcome = HttpAnswer::Outcome::not_sent, .problem = "closed"});
      return id;
    }
    submitted_.push_back(std::move(transfer));
    lock.unlock();
    curl_.multi_wakeup(multi_);
    return id;
  }
  // Calls `due` once, on the thread; here and now if it has ended.
  uint64_t start_timer(MonotonicTime deadline, UniqueFunction<void()> due) {
    std::unique_lock lock(mutex_);
    const uint64_t id = next_timer_++;
    if (stopping_) {
      lock.unlock();
      due();
      return id;
    }
    timers_.push_back({id, deadline, std::move(due)});
    lock.unlock();
    curl_.multi_wakeup(multi_);
    return id;
  }
  bool is_stopping() {
    const std::scoped_lock lock(mutex_);
    return stopping_;
  }
  // The timer is due now, if it was not before.
  void hurry(uint64_t timer) {
    {
      const std::lock_guard lock(mutex_);
      for (Timer& each : timers_) {
        if (each.id == timer) each.deadline = MonotonicTime::min();
      }
    }
    curl_.multi_wakeup(multi_);
  }
  // 0: all.
  void stop(StreamId stream) {
    {
      const std::lock_guard lock(mutex_);
      stopped_.push_back(stream);
    }
    curl_.multi_wakeup(multi_);
  }

 private:
  struct Timer {
    uint64_t id;
    MonotonicTime deadline;
    UniqueFunction<void()> due;
  };

  // With the mutex. All of them when the thread ends.
  std::vector<Timer> take_due_timers() {
    const MonotonicTime now = stopping_ ? MonotonicTime::max() : clock_.now();
    const auto due = std::ranges::partition(timers_, [now](const Timer& each) { return each.deadline > now; });
    std::vector<Timer> taken(std::make_move_iterator(due.begin()), std::make_move_iterator(due.end()));
    timers_.erase(due.begin(), due.end());
    return taken;
  }
  int milliseconds_to_poll() {
    const std::lock_guard lock(mutex_);
    Milliseconds longest(60'000);
    for (const Timer& each : timers_) {
      if (each.deadline == MonotonicTime::min()) return 0;
      longest = std::min(longest, std::chrono::ceil<Milliseconds>(each.deadline - clock_.now()));
    }
    return static_cast<int>(std::max<int64_t>(longest.count(), 0));
  }

  void run() {
    for (bool stopping = false; !stopping;) {
      std::deque<std::unique_ptr<Transfer>> submitted;
      std::vector<StreamId> stopped;
      std::vector<Timer> due;
      {
        const std::lock_guard lock(mutex_);
        submitted.swap(submitted_);
        stopped.swap(stopped_);
        stopping = stopping_;
        due = take_due_timers();
      }
      for (Timer& timer : due) timer.due();
      for (auto& transfer : submitted) begin(std::move(transfer));
      for (const StreamId stream : stopped) end_stream(stream);
      int running = 0;
      curl_.multi_perform(multi_, &running);
      int left = 0;
      while (const CURLMsg* message = curl_.multi_info_read(multi_, &left)) {
        if (message->msg == CURLMSG_DONE) end(message->easy_handle, message->data.result);
      }
      if (!stopping) curl_.multi_poll(multi_, nullptr, 0, milliseconds_to_poll(), nullptr);
    }
    while (!transfers_.empty()) end(transfers_.begin()->first, CURLE_ABORTED_BY_CALLBACK);
  }

  void begin(std::unique_ptr<Transfer> transfer) {
    const HttpRequest& request = transfer->request;
    CURL* easy = transfer->easy = curl_.easy_init();
    for (const char* header : {"Content-Type: application/json", "Expect:", "Grpc-Metadata-Hasleader: true"}) {
      transfer->headers = curl_.slist_append(transfer->headers, header);
    }
    const auto set = [this, easy](CURLoption option, auto value) { curl_.easy_setopt(easy, option, value); };
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_POSTFIELDS, request.body.c_str());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_HTTPHEADER, transfer->headers);
    set(CURLOPT_WRITEFUNCTION, &on_received);
    set(CURLOPT_WRITEDATA, static_cast<void*>(transfer.get()));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_PROXY, "");
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_TCP_KEEPIDLE, kKeepAliveSeconds);
    set(CURLOPT_TCP_KEEPINTVL, kKeepAliveSeconds);
    if (request.once) set(CURLOPT_FRESH_CONNECT, 1L);
    if (transfer->stream == 0) {
      set(CURLOPT_TIMEOUT_MS, static_cast<long>(std::chrono::duration_cast<Milliseconds>(request.timeout).count()));
    }
    transfers_.emplace(easy, std::move(transfer));
    curl_.multi_add_handle(multi_, easy);
  }

  void end_stream(StreamId stream) {
    std::vector<CURL*> found;
    for (const auto& [easy, transfer] : transfers_) {
      if (transfer->stream != 0 && (stream == 0 || transfer->stream == stream)) found.push_back(easy);
    }
    for (CURL* easy : found) end(easy, CURLE_ABORTED_BY_CALLBACK);
  }

  void end(CURL* easy, CURLcode code) {
    const auto found = transfers_.find(easy);
    const auto transfer = std::move(found->second);
    transfers_.erase(found);
    HttpAnswer answer{.outcome = outcome_of(code), .problem = curl_.easy_strerror(code)};
    long status = 0;
    curl_.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    answer.status = static_cast<int>(status);
    answer.body = std::move(transfer->received);
    curl_.multi_remove_handle(multi_, easy);
    curl_.easy_cleanup(easy);
    curl_.slist_free_all(transfer->headers);
    transfer->done(std::move(answer));
  }

  const CurlLibrary& curl_;
  const Clock& clock_;
  CURLM* const multi_;
  std::map<CURL*, std::unique_ptr<Transfer>> transfers_;  // the thread's

  std::mutex mutex_;
  std::deque<std::unique_ptr<Transfer>> submitted_;
  std::vector<StreamId> stopped_;
  StreamId next_stream_ = 1;
  std::vector<Timer> timers_;
  uint64_t next_timer_ = 1;
  bool stopping_ = false;

  std::thread thread_;  // last: it uses all of the above
};

HttpClient::HttpClient(const Clock& clock, Scheduler& scheduler) : clock_(clock), scheduler_(scheduler) {}

HttpClient::~HttpClient() = default;

Status HttpClient::open() {
  NARU_TRY_ASSIGN(const CurlLibrary* curl, load_curl());
  engine_ = std::make_unique<Engine>(*curl, clock_);
  return {};
}

void HttpClient::abort() {
  if (engine_) engine_->abort();
}

void HttpClient::close() {
  if (engine_) engine_->stop_thread();
}

Task<HttpAnswer> HttpClient::post(HttpRequest request) {
  OneShot<HttpAnswer> answer;
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->done = [&scheduler = scheduler_, &answer](HttpAnswer result) {
    scheduler.post([&answer, result = std::move(result)]() mutable { answer.set(std::move(result)); });
  };
  engine_->submit(std::move(transfer));
  co_return co_await answer;
}

Task<HttpAnswer> HttpClient::post_aside(HttpRequest request) {
  OneShot<HttpAnswer> answer;
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->done = [&answer](HttpAnswer result) { answer.set(std::move(result)); };
  engine_->submit(std::move(transfer));
  co_return co_await answer;
}

Task<bool> HttpClient::pause_aside(Duration time, CancelToken token) {
  OneShot<> over;
  const uint64_t timer = engine_->start_timer(clock_.now() + time, [&over] { over.set(); });
  const CancelCallback hurry(token, [this, timer] { engine_->hurry(timer); });
  co_await over;
  co_return !engine_->is_stopping();
}

HttpClient::StreamId HttpClient::start_stream(HttpRequest request, UniqueFunction<void(std::string_view)> line,
                                              UniqueFunction<void()> ended) {
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->line = std::move(line);
  transfer->done = [ended = std::move(ended)](const HttpAnswer&) mutable { ended(); };
  return engine_->submit(std::move(transfer));
}

void HttpClient::stop_stream(StreamId stream) {
  engine_->stop(stream);
}

void HttpClient::stop_all_streams() {
  if (engine_) engine_->stop(0);
}

}  // namespace naru
