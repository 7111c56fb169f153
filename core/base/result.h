// Errors as values. Every function that can fail on user input returns Result<T>; a broken invariant of ours
// is FW_CHECK, which throws InternalError that only the pipeline runner and the engine catch.
#pragma once
#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace fw {

enum class ErrorKind {
    BadInput,     ///< the file or text is wrong: exit code 2
    Unsupported,  ///< well formed, but we have no implementation (names the op or feature)
    PassBug,      ///< a pass broke the IR
    Device,       ///< a driver, JIT or library refused
    Cancelled,
    Internal,
};

/// What went wrong, where, and what the user can do about it. `message` is one clear sentence with the remedy;
/// `where` is "file:line" or "file, entry X, byte N"; `trail` gains one line per caller that adds context.
struct Error {
    ErrorKind kind = ErrorKind::Internal;
    std::string message;
    std::string where;
    std::vector<std::string> trail;

    /// One line: "where: message (trail; trail)".
    std::string line() const;
};

inline Error badInput(std::string message, std::string where = {}) {
    return {ErrorKind::BadInput, std::move(message), std::move(where), {}};
}
inline Error unsupported(std::string message, std::string where = {}) {
    return {ErrorKind::Unsupported, std::move(message), std::move(where), {}};
}

/// A T or an Error. Use `FW_TRY(name, expr)` to unwrap or return the error to the caller.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }
    T& value() & { return std::get<0>(state_); }
    const T& value() const& { return std::get<0>(state_); }
    T&& value() && { return std::get<0>(std::move(state_)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    Error& error() { return std::get<1>(state_); }
    const Error& error() const { return std::get<1>(state_); }
    /// The same result, with one more line of context on its error.
    Result&& because(std::string line) && {
        if (!ok()) error().trail.push_back(std::move(line));
        return std::move(*this);
    }

private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : error_(std::move(error)), ok_(false) {}
    bool ok() const { return ok_; }
    explicit operator bool() const { return ok_; }
    Error& error() { return error_; }
    const Error& error() const { return error_; }
    Result&& because(std::string line) && {
        if (!ok_) error_.trail.push_back(std::move(line));
        return std::move(*this);
    }

private:
    Error error_;
    bool ok_ = true;
};

/// Thrown by FW_CHECK only. Never thrown for user input.
class InternalError : public std::exception {
public:
    explicit InternalError(std::string text) : text_(std::move(text)) {}
    const char* what() const noexcept override { return text_.c_str(); }

private:
    std::string text_;
};

[[noreturn]] void throwInternal(const char* file, int line, const std::string& text);

}  // namespace fw

#define FW_CONCAT_(a, b) a##b
#define FW_CONCAT(a, b) FW_CONCAT_(a, b)
#define FW_CHECK(cond, text) \
    do { if (!(cond)) ::fw::throwInternal(__FILE__, __LINE__, (text)); } while (0)
/// FW_TRY(x, f()) declares `x` as the unwrapped value, or returns the error.
#define FW_TRY(name, ...)                                                \
    auto FW_CONCAT(result_, __LINE__) = (__VA_ARGS__);                   \
    if (!FW_CONCAT(result_, __LINE__).ok()) return std::move(FW_CONCAT(result_, __LINE__).error()); \
    auto name = std::move(*FW_CONCAT(result_, __LINE__))
/// FW_TRY_VOID(f()) returns the error of a Result<void> (or drops the value of another).
#define FW_TRY_VOID(...) \
    do { auto fw_r_ = (__VA_ARGS__); if (!fw_r_.ok()) return std::move(fw_r_.error()); } while (0)
