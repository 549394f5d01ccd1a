package headless

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/pathin"
	"github.com/haftdev/haft/wire"
)

// maxTaskOutput is how much of a command's output a program gets.
const maxTaskOutput = 8 << 10

// taskOutput returns the end of what a command in the background has written.
func taskOutput(talk *harness.Conversation, r *wire.GetTaskOutput) (any, error) {
	end, total, ok := talk.TaskOutput(r.TaskID, maxTaskOutput)
	if !ok {
		return nil, errors.New("get_task_output: no command of this session has that task_id")
	}
	return wire.TaskOutputReply{Output: strings.ToValidUTF8(string(end), "\ufffd"), TotalBytes: total, Truncated: int64(len(end)) < total}, nil
}

// background moves calls to the background. Only for a call by name it matters that
// there is none.
func background(talk *harness.Conversation, r *wire.BackgroundTasks) (reply wire.BackgroundTasksReply) {
	if moved := talk.Background(r.ToolUseID); !moved && r.ToolUseID != "" {
		reply.Backgrounded = &moved
	}
	return reply
}

// registerRoot adds a folder to work in. It must lie in one that the session has.
func (s *server) registerRoot(talk *harness.Conversation, r *wire.RegisterRepoRoot) (any, error) {
	roots := talk.World.Engine.Guard().Roots()
	dir, err := filepath.EvalSymlinks(r.Directory)
	if err != nil {
		return nil, fmt.Errorf("register_repo_root: %w", err)
	}
	within := func(root string) bool { return pathin.Contains(root, dir) }
	switch {
	case slices.Contains(roots, dir):
		return nil, fmt.Errorf("register_repo_root: %s is registered already", dir)
	case !slices.ContainsFunc(roots, within):
		return nil, fmt.Errorf("register_repo_root: %s is not below a folder of the session", dir)
	}
	return wire.RegisterRepoRootReply{Directory: dir}, talk.AddDirectories([]string{dir})
}
