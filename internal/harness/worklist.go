package harness

// The ways to keep a list of work, as the setting todoTools names them. A conversation has
// one: a model that is offered two keeps both, or half of each.
const (
	taskTools = "tasks" // TaskCreate, TaskGet, TaskList and TaskUpdate
	todoTool  = "todos" // TodoWrite
	noList    = "none"
)

// listTools are the tools of both lists.
var listTools = []string{"TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"}
