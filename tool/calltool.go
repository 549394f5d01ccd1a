package tool

// DoorName is the tool with which a model calls tools that its request does not describe.
// The request stays the same, and the call is treated as one of the tool that it names.
const DoorName = "CallTool"
