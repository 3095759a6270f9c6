// The common parts of all resource tests: steps written as text, and the life of a step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include "agent/resources/types.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_node.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {

class ResourceTest : public ::testing::Test {
 protected:
  // A step in protobuf's text form: `file { path: "/x" }`.
  absl::StatusOr<std::unique_ptr<Resource>> TryMake(const std::string& text,
                                                    bool want_diff = false) {
    v1::Step step;
    if (!google::protobuf::TextFormat::ParseFromString(text, &step)) {
      ADD_FAILURE() << "not a step: " << text;
      return absl::InvalidArgumentError("not a step");
    }
    step.set_step_id("role/task");
    return MakeResource(step, node_.context, want_diff);
  }
  std::unique_ptr<Resource> Make(const std::string& text, bool want_diff = false) {
    auto resource = TryMake(text, want_diff);
    EXPECT_OK(resource);
    return resource.ok() ? *std::move(resource) : nullptr;
  }

  // The fields that differ; "error: …" when the check fails.
  std::vector<std::string> Fields(Resource& resource) {
    const auto changes = resource.Check();
    if (!changes.ok()) return {"error: " + std::string(changes.status().message())};
    std::vector<std::string> fields;
    for (const Change& change : *changes) fields.push_back(change.field);
    return fields;
  }

  // The changes predicted in check mode.
  static absl::StatusOr<std::vector<Change>> Foreseen(Resource& resource) {
    ASSIGN_OR_RETURN(std::vector<Change> found, resource.Check());
    if (!found.empty()) RETURN_IF_ERROR(resource.Foresee(found));
    return found;
  }

  // Expects exactly these differences, and none after Apply(), not even after a second one.
  void ExpectConverges(const std::string& text, const std::vector<std::string>& fields) {
    SCOPED_TRACE(text);
    const std::unique_ptr<Resource> resource = Make(text);
    ASSERT_NE(resource, nullptr);
    EXPECT_EQ(Fields(*resource), fields);
    for (int i = 0; i < 2; ++i) {
      ASSERT_OK(resource->Apply(observer_));
      EXPECT_EQ(Fields(*resource), std::vector<std::string>());
    }
  }
  void ExpectInSync(const std::string& text) {
    SCOPED_TRACE(text);
    const std::unique_ptr<Resource> resource = Make(text);
    ASSERT_NE(resource, nullptr);
    EXPECT_EQ(Fields(*resource), std::vector<std::string>());
  }

  testing::FakeNode node_;
  testing::RecordingObserver observer_;
};

}  // namespace muster::agent
