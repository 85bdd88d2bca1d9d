// The web app: its files, and the chats that it keeps on the server.
#pragma once

#include "serve/chat_store.h"
#include "serve/router.h"

namespace terrace::serve {

/// GET / and /app/...: open, since a browser sends no key for them. /app/chats and /app/chats/ID: as all else.
/// `chats` may be null: the app then keeps its chats in the browser.
void add_app(Router& router, ChatStore* chats);

}  // namespace terrace::serve
