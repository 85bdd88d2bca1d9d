#include "serve/endpoints.h"

namespace terrace::serve {

void with_model(const Service& service, const Call& call, Dialect dialect, std::function<void()> work) {
  if (const Lease lease = service.keeper().lease()) return work();
  const auto later = [dialect, call, work = std::move(work)](const Result<Lease>& lease) {
    if (!lease) return call.refuse({503, lease.error().message, "", "overloaded"}, dialect);
    answer_faults(call, dialect, work);
  };
  if (service.keeper().when_loaded(later)) return;
  call.refuse({503, "the model is being loaded, and too many requests wait for it; try again", "", "overloaded"},
              dialect);
}

void add_model_endpoint(Router& router, const Service& service, std::string path, Dialect dialect,
                        JsonEndpoint endpoint) {
  router.add("POST", std::move(path), [&service, dialect, endpoint = std::move(endpoint)](const Call& call) {
    with_model(service, call, dialect, [=] { read_body(call, dialect, endpoint); });
  });
}

}  // namespace terrace::serve
