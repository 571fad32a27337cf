// Point-to-point messages arrive once, in order, and with their sender.
#pragma once

#include <string>
#include <vector>

#include "properties/generators/gang_program.h"
#include "properties/law.h"
#include "properties/subject.h"

namespace gang::properties {

struct Message {
  int source = 0;
  int destination = 0;
  int tag = 0;

  friend bool operator==(const Message&, const Message&) = default;
};

// How the receivers ask for their messages.
enum class Receives : std::uint8_t { by_source_and_tag, any_source, any_source_and_tag };

// Every rank starts its sends in list order and its receives in an order of its own, then waits for
// all.
struct MessageCase {
  int world = 1;
  std::vector<Message> messages;  // ranks modulo the world
  Receives receives = Receives::by_source_and_tag;
  std::uint64_t shuffle = 0;  // seed that orders the receives; 0: list order
  RunChoices run;

  friend bool operator==(const MessageCase&, const MessageCase&) = default;
};

MessageCase generate_messages(Draw& draw);
std::string to_text(const MessageCase& messages);
std::vector<MessageCase> shrinks(const MessageCase& messages);

std::vector<Property> messages_keep_order(const Subject& subject = {});

}  // namespace gang::properties
