package tool

import (
	"encoding/json"
	"fmt"
)

// DoorName is the tool with which a model calls tools that its request does not describe.
// The request stays the same, and the call is treated as one of the tool that it names.
const DoorName = "CallTool"

// ThroughDoor returns the call that a call of the door stands for. Name and input stay the
// same unless name is the door's and the input names a tool of the set.
func (s *Set) ThroughDoor(name string, input json.RawMessage) (string, json.RawMessage) {
	if name != DoorName || s.names[DoorName] == nil {
		return name, input
	}
	var in struct {
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
	}
	if json.Unmarshal(input, &in) != nil || in.Tool == DoorName || s.Called(in.Tool) == nil {
		return name, input
	}
	var text string
	if json.Unmarshal(in.Input, &text) == nil && json.Valid([]byte(text)) {
		in.Input = json.RawMessage(text) // an object that was written as a string
	}
	if len(in.Input) == 0 || string(in.Input) == "null" {
		in.Input = json.RawMessage("{}")
	}
	return in.Tool, in.Input
}

// Hint tells a model how to call a tool that its request does not describe.
func (s *Set) Hint(t *Tool) string {
	if s.names[DoorName] == nil {
		return fmt.Sprintf("Its input must match %s", s.View(t).JSON())
	}
	return fmt.Sprintf(`Call it as %s {"tool": %q, "input": …} with an input that matches %s`, DoorName, t.Name, s.View(t).JSON())
}
