// How Gloo gangs are made from Gloo gangs.
#pragma once

#include <memory>

#include "gang/gloo/gloo_member.h"
#include "gang/operation.h"

namespace gang {

// create_gang or split, on all members of `parent`: agrees on the members, and connects the child
// that this rank is in; null if it is in none. `index` counts these calls on `parent`, so that no
// two gangs ever have the same prefix. Throws GangError mismatch on every rank if the lists differ.
std::shared_ptr<GlooMember> make_child_member(GlooMember& parent, const GlooCall& call,
                                              const Operation& operation, std::uint64_t index);

// For gangs that have no parent. Throws GangError (timeout, connection, corrupt) in place of what a
// connector throws; nothing is broken by that.
std::shared_ptr<GlooMember> make_root_member(std::shared_ptr<const GangInfo> info, int rank,
                                             std::string prefix, const GlooWorld& world);

// The same for members that have just agreed on each other: if they do not all meet within
// `timeout`, the gang is broken from the start.
std::shared_ptr<GlooMember> make_member_or_broken(std::shared_ptr<const GangInfo> info, int rank,
                                                  std::string prefix, const GlooWorld& world,
                                                  Duration timeout);

}  // namespace gang
