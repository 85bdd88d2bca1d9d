// Boost's sockets, coroutines and HTTP, for the files of this folder only: they are slow to compile.
#pragma once

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

namespace terrace::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

}  // namespace terrace::serve
