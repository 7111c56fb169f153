// Keeps moc's code compiling for QObjects of namespace fw. Qt asks of every class whether it has an operator==; argument-dependent look-up then
// finds fw::operator==(Argument, Argument), and Argument's constructor template accepts any type until its body fails. Objects are never compared,
// so an exact, deleted match ends the question. Every header with a Q_OBJECT class of fw includes this file.
#pragma once
#include <QObject>

#include <type_traits>

namespace fw {

template <class T>
    requires std::is_base_of_v<QObject, T>
bool operator==(const T&, const T&) = delete;

}  // namespace fw
