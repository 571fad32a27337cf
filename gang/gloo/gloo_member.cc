#include "gang/gloo/gloo_member.h"

#include <utility>

namespace gang {
namespace {

// Tells the connector which call the thread is performing.
class NotedActivity {
 public:
  NotedActivity(GlooConnector& connector, const GangInfo& gang, const GlooCall& call) noexcept
      : connector_(connector), activity_{gang, call.collective} {
    connector_.note_activity(&activity_);
  }
  ~NotedActivity() { connector_.note_activity(nullptr); }
  NotedActivity(const NotedActivity&) = delete;
  NotedActivity& operator=(const NotedActivity&) = delete;

 private:
  GlooConnector& connector_;
  GlooActivity activity_;
};

}  // namespace

std::string without_source_location(const std::string& text) {
  const std::size_t end = text.find("] ");
  return text.starts_with("[") && end != std::string::npos ? text.substr(end + 2) : text;
}

GlooMember::GlooMember(std::shared_ptr<const GangInfo> info, int rank, std::string prefix,
                       GlooWorld world, std::shared_ptr<gloo::transport::Context> transport)
    : info_(std::move(info)),
      rank_(rank),
      prefix_(std::move(prefix)),
      world_(std::move(world)),
      transport_(std::move(transport)) {
  if (transport_ == nullptr) return;
  deadlines_ = std::make_shared<DeadlineContext>(transport_, runtime());
  context_ = make_gloo_context(deadlines_);
  collectives_ = std::make_unique<GlooCollectives>(context_);
}

GlooMember::~GlooMember() = default;

void GlooMember::communicate(const GlooCall& call, const std::function<void()>& body) {
  require_intact(call);
  deadlines_->begin_operation(call.deadline);
  if (const auto error = error_of(call, body)) fail_lost(call, deadlines_->awaited_rank(), *error);
}

void GlooMember::exchange(const GlooCall& call, int peer, const std::function<void()>& body) {
  if (const auto error = error_of(call, body)) fail_lost(call, peer, *error);
}

// What Gloo has thrown, if anything; our own errors pass through.
std::optional<std::string> GlooMember::error_of(const GlooCall& call,
                                                const std::function<void()>& body) {
  const NotedActivity activity(*world_.connector, *info_, call);
  try {
    body();
    return std::nullopt;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& failure) {
    return failure.what();
  }
}

void GlooMember::fail_lost(const GlooCall& call, int peer, const std::string& error) {
  fail(call, diagnose(call, peer, error));
}

GangCause GlooMember::diagnose(const GlooCall& call, int peer, const std::string& error) const {
  const std::string who = peer >= 0 ? "rank " + std::to_string(peer) : "a member";
  if (runtime().now() >= call.deadline)
    return {.kind = GangErrorKind::timeout,
            .reason = "rank " + std::to_string(rank_) + " waited for " + who + " in " +
                      to_string(call.collective)};
  // A member that closed its connections has left a note, if it could.
  if (std::optional<GangCause> noted = noted_cause()) return *std::move(noted);
  GangCause cause{
      .kind = GangErrorKind::peer_failed,
      .reason = who + " is gone or has closed the gang (" + without_source_location(error) + ")"};
  if (peer >= 0) cause.ranks_at_fault = {peer};
  return cause;
}

std::optional<GangCause> GlooMember::noted_cause() const {
  const std::optional<std::string> note = world_.connector->find_note(prefix_);
  return note ? parse_note(*note) : std::nullopt;
}

// Whether `cause` is the first; if not, it is replaced with the first.
bool GlooMember::set_cause(GangCause& cause) {
  const auto lock = world_.board->lock();
  if (cause_) {
    cause = *cause_;
    return false;
  }
  cause_ = cause;
  return true;
}

void GlooMember::break_with(GangCause cause) {
  if (!set_cause(cause)) return;
  if (transport_ != nullptr) {
    world_.connector->leave_note(prefix_, to_note(cause));
    world_.connector->close(*transport_);
  }
  abort_open_receives();
  if (world_.watchdog != nullptr && !cause.is_wanted) world_.watchdog->gang_broke(*this, cause);
}

void GlooMember::fail(const GlooCall& call, GangCause cause) {
  break_with(std::move(cause));
  throw_broken(call);
}

bool GlooMember::is_broken() const {
  const auto lock = world_.board->lock();
  return cause_.has_value();
}

bool GlooMember::is_broken(const std::unique_lock<RuntimeMutex>&) const {
  return cause_.has_value();
}

void GlooMember::require_intact(const GlooCall& call) const {
  if (is_broken()) throw_broken(call);
}

void GlooMember::throw_broken(const GlooCall& call) const {
  GangCause cause;
  {
    const auto lock = world_.board->lock();
    cause = *cause_;
  }
  throw error_for(*info_, rank_, call.collective, std::move(cause), runtime().now() - call.began);
}

void GlooMember::close(bool is_busy) noexcept {
  GangCause cause = aborted_by(rank_, "closed the gang");
  set_cause(cause);
  if (is_busy && transport_ != nullptr) world_.connector->close(*transport_);
  abort_open_receives();
}

void GlooMember::abort_open_receives() {
  const auto lock = world_.board->lock();
  for (gloo::transport::UnboundBuffer* buffer : open_receives_) buffer->abortWaitRecv();
  world_.board->changed().notify_all();
}

void GlooMember::disconnect() noexcept {
  collectives_.reset();
  context_.reset();
  deadlines_.reset();
  transport_.reset();
}

void GlooMember::add_open_receive(gloo::transport::UnboundBuffer& buffer) {
  const auto lock = world_.board->lock();
  open_receives_.push_back(&buffer);
  if (cause_) buffer.abortWaitRecv();
}

void GlooMember::remove_open_receive(gloo::transport::UnboundBuffer& buffer) {
  const auto lock = world_.board->lock();
  std::erase(open_receives_, &buffer);
}

}  // namespace gang
