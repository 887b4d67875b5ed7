#include "coordination_store/etcd/etcd_store.h"

#include <utility>

namespace naru {
namespace {

constexpr int kKeysPerPage = 250;
constexpr Duration kCloseTimeout = 3s;  // until the lease is revoked, or not

}  // namespace

EtcdStore::EtcdStore(Seams seams, EtcdOptions options)
    : seams_(seams),
      options_(std::move(options)),
      keys_(options_.root),
      client_(seams.clock, seams.scheduler, options_.servers),
      watches_(std::make_shared<EtcdWatches>(seams, client_, keys_)),
      session_(seams, client_, keys_, options_.session_timeout, [watches = watches_] { watches->session_changed(); }) {}

Task<Result<std::unique_ptr<EtcdStore>>> EtcdStore::open(Seams seams, EtcdOptions options) {
  std::unique_ptr<EtcdStore> store(new EtcdStore(seams, std::move(options)));
  Status begun = co_await store->begin();
  if (begun.ok()) co_return store;
  ignore(co_await store->close());
  co_return failure(std::move(begun));
}

Task<Status> EtcdStore::begin() {
  NARU_CO_TRY(co_await on_worker(seams_.scheduler, [this] { return client_.http().open(); }));
  // A server may be silent for longer than anybody wants to wait.
  const CancelCallback on_cancel(options_.cancelled, [this] { client_.http().abort(); });
  co_return co_await session_.begin(options_.connect_timeout, options_.cancelled);
}

Task<Status> EtcdStore::close() {
  if (closed_.exchange(true)) co_return Status();
  // A server that hangs is not waited for: then the session ends by its timeout.
  CancelSource limit;
  const CancelCallback on_limit(limit.token(), [this] { client_.http().abort(); });
  const auto timer =
      seams_.scheduler.start_timer(seams_.clock.now() + kCloseTimeout, [limit]() mutable { limit.cancel(); });
  co_await session_.end();
  seams_.scheduler.cancel_timer(timer);
  co_await watches_->stop();
  co_await on_worker(seams_.scheduler, [this] { client_.http().close(); });
  co_return Status();
}

Status EtcdStore::check_session() {
  if (session_.session().state != SessionState::expired) return {};
  return Status(ErrorCode::unavailable, "the session with etcd has ended");
}

Task<Result<std::optional<KeyValue>>> EtcdStore::get(std::string key) {
  NARU_CO_TRY(validate_key(key));
  NARU_CO_TRY(check_session());
  EtcdReply reply =
      co_await client_.call("/v3/kv/range", etcd_get_request(keys_.stored(key)), options_.session_timeout);
  NARU_CO_TRY(std::move(reply.status));
  NARU_CO_TRY_ASSIGN(EtcdListing listing, parse_etcd_listing(reply.body));
  if (listing.values.empty()) co_return std::optional<KeyValue>();
  listing.values[0].key = std::move(key);
  co_return std::move(listing.values[0]);
}

Task<Result<std::vector<KeyValue>>> EtcdStore::list(std::string folder) {
  NARU_CO_TRY(validate_subject(folder));
  NARU_CO_TRY(check_session());
  std::vector<KeyValue> found;
  EtcdListing page{.more = true};
  for (std::string after; page.more;) {
    EtcdReply reply = co_await client_.call(
        "/v3/kv/range", etcd_list_request(range_of(keys_, folder), after, kKeysPerPage), options_.session_timeout);
    NARU_CO_TRY(std::move(reply.status));
    NARU_CO_TRY_ASSIGN(page, parse_etcd_listing(reply.body));
    if (page.values.empty()) break;
    after = page.values.back().key;
    for (KeyValue& value : page.values) {
      auto key = keys_.key(value.key);
      if (!key) co_return failure(ErrorCode::unavailable, "etcd listed a key that was not asked for: {}", value.key);
      value.key = std::move(*key);
      found.push_back(std::move(value));
    }
  }
  co_return found;
}

Task<Result<std::vector<KeyVersion>>> EtcdStore::commit(Transaction transaction) {
  NARU_CO_TRY(validate_transaction(transaction));
  NARU_CO_TRY(check_session());
  if (transaction.operation_count() == 0) co_return std::vector<KeyVersion>();
  EtcdReply reply = co_await client_.call_once(
      "/v3/kv/txn", etcd_transaction_request(transaction, keys_, session_.lease()), options_.session_timeout);
  if (reply.lease_is_gone) session_.note_expired();
  NARU_CO_TRY(std::move(reply.status));
  NARU_CO_TRY_ASSIGN(const EtcdOutcome outcome, parse_etcd_outcome(reply.body));
  if (outcome.succeeded) co_return std::vector<KeyVersion>(transaction.puts.size(), outcome.revision);
  if (outcome.session_exists) {
    co_return failure(ErrorCode::version_conflict, "a key does not have the version that was expected");
  }
  session_.note_expired();
  co_return failure(ErrorCode::unavailable, "the session with etcd has ended");
}

}  // namespace naru
