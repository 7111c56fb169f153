// Leaves of torch.export's JSON: symbolic numbers, tensor types, dtypes, devices. Shared by the graph and by the weights' configs.
#pragma once
#include <map>
#include <string>
#include <unordered_map>

#include "core/graph/graph.h"
#include "core/import/json_document.h"

namespace fw {

/// The single member of a union that is not null (2.1 and 2.2 write the inactive members as null). Does not exist when there is none.
Json activeMember(Json unionValue);

/// Reads types, and remembers what the symbols in them said: expressions already parsed, hints, and every symbol's name.
class ExportedTypes {
public:
    explicit ExportedTypes(std::string where) : where_(std::move(where)) {}

    /// SymInt: {"as_int": 3}, {"as_expr": {...}}, or a plain number (2.1).
    Result<Expr> symInt(Json);
    Result<Expr> expression(std::string_view text);
    Result<ValueType> tensor(Json tensorMeta);
    /// As above, for a tensor that must be dense and constant: a stored weight.
    Result<TensorType> storedTensor(Json tensorMeta, const std::string& name);
    Result<ValueType> symbolic(Json value, SymType::Kind);
    Result<Device> device(Json) const;

    const std::map<std::string, int64_t, std::less<>>& hints() const { return hints_; }
    /// Adds every symbol that occurs and has no range yet, unbounded.
    void addSymbols(Ranges&) const;
    Error bad(std::string message) const { return badInput(std::move(message), where_); }
    const std::string& where() const { return where_; }

private:
    Result<std::vector<Expr>> symInts(Json list, std::string_view what);

    std::string where_;
    std::unordered_map<std::string, Expr> parsed_;
    std::map<std::string, int64_t, std::less<>> hints_;
    Ranges seen_;
};

std::optional<Layout> layoutFromExportCode(int64_t);

}  // namespace fw
