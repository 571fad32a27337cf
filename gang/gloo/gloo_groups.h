// How Gloo gangs are made from Gloo gangs.
#pragma once

#include <memory>

#include "gang/gloo/gloo_member.h"
#include "gang/operation.h"

namespace gang {

// create_gang or split, on all members of `parent`: agrees on who is in, and connects the child
// that this rank is in; null where it is in none. `index` counts these calls on `parent`; with it
// no two gangs ever have the same prefix. Throws GangError mismatch on every rank where the lists
// differ.
std::shared_ptr<GlooMember> make_child_member(GlooMember& parent, const GlooCall& call,
                                              const Operation& operation, std::uint64_t index);

// Throws GangError (timeout, connection, corrupt) in place of what a connector throws: nothing is
// broken that was not. For gangs that come from no other.
std::shared_ptr<GlooMember> make_root_member(std::shared_ptr<const GangInfo> info, int rank,
                                             std::string prefix, const GlooWorld& world);

// The same for members that have agreed on each other just now: where they do not all meet within
// `timeout`, the gang is broken from the first.
std::shared_ptr<GlooMember> make_member_or_broken(std::shared_ptr<const GangInfo> info, int rank,
                                                  std::string prefix, const GlooWorld& world,
                                                  Duration timeout);

}  // namespace gang
