package headless

import (
	"context"
	"errors"
	"strings"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/wire"
)

// taskRequests are about background work.
func taskRequests(q *requests) []row {
	return []row{about(q, background), about(q, taskOutput), about(q, stopTask)}
}

// background moves calls to the background. It is an error if there is none only if the
// call is named.
func background(_ context.Context, talk *harness.Conversation, r *wire.BackgroundTasks) (any, error) {
	var reply wire.BackgroundTasksReply
	if moved := talk.Background(r.ToolUseID); !moved && r.ToolUseID != "" {
		reply.Backgrounded = &moved
	}
	return reply, nil
}

// taskOutput returns the end of what a command in the background has written.
func taskOutput(_ context.Context, talk *harness.Conversation, r *wire.GetTaskOutput) (any, error) {
	end, total, ok := talk.TaskOutput(r.TaskID, maxTaskOutput)
	if !ok {
		return nil, errors.New("get_task_output: no command of this session has that task_id")
	}
	return wire.TaskOutputReply{Output: strings.ToValidUTF8(string(end), "\ufffd"), TotalBytes: total, Truncated: int64(len(end)) < total}, nil
}

// maxTaskOutput is how much of a command's output a program gets.
const maxTaskOutput = 8 << 10

// stopTask ends a task. One that has ended already is what was wanted.
func stopTask(ctx context.Context, talk *harness.Conversation, r *wire.StopTask) (any, error) {
	_ = talk.StopTask(ctx, r.TaskID)
	return wire.Empty{}, nil
}
