package agent

// introduction begins what names tools that the model may look for.
const introduction = "These tools exist but are not described to you yet. Find the ones you need with ToolSearch before you call them:\n"

// maxIntroduced limits what is said about tools that cannot be searched for, in bytes.
const maxIntroduced = 20_000
