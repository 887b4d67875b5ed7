#include "coordination_store/etcd/curl_library.h"

#include <dlfcn.h>

namespace naru {
namespace {

constexpr const char* kLibraryName = "libcurl.so.4";

template <class Function>
bool look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Result<CurlLibrary> load() {
  void* library = ::dlopen(kLibraryName, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return failure(ErrorCode::unavailable,
                   "etcd is spoken to through libcurl, which cannot be loaded ({}): install Debian's libcurl4",
                   ::dlerror());
  }
  CurlLibrary curl{};
  const bool complete = look_up(library, "curl_global_init", curl.global_init) &&
                        look_up(library, "curl_easy_init", curl.easy_init) &&
                        look_up(library, "curl_easy_cleanup", curl.easy_cleanup) &&
                        look_up(library, "curl_easy_setopt", curl.easy_setopt) &&
                        look_up(library, "curl_easy_getinfo", curl.easy_getinfo) &&
                        look_up(library, "curl_easy_strerror", curl.easy_strerror) &&
                        look_up(library, "curl_slist_append", curl.slist_append) &&
                        look_up(library, "curl_slist_free_all", curl.slist_free_all) &&
                        look_up(library, "curl_multi_init", curl.multi_init) &&
                        look_up(library, "curl_multi_cleanup", curl.multi_cleanup) &&
                        look_up(library, "curl_multi_add_handle", curl.multi_add_handle) &&
                        look_up(library, "curl_multi_remove_handle", curl.multi_remove_handle) &&
                        look_up(library, "curl_multi_perform", curl.multi_perform) &&
                        look_up(library, "curl_multi_poll", curl.multi_poll) &&
                        look_up(library, "curl_multi_wakeup", curl.multi_wakeup) &&
                        look_up(library, "curl_multi_info_read", curl.multi_info_read);
  if (!complete || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return failure(ErrorCode::unavailable, "{} is too old or damaged: install Debian's libcurl4", kLibraryName);
  }
  return curl;
}

}  // namespace

Result<const CurlLibrary*> load_curl() {
  static const Result<CurlLibrary> loaded = load();
  if (!loaded) return failure(loaded.error());
  return &*loaded;
}

}  // namespace naru
