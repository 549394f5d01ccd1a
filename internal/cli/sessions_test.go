package cli_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// recordSession is the script command
//
//	record ID PROMPT COMMAND
//
// which records a session of the working directory in which the user said the
// prompt and the model ran the command.
func recordSession(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: record ID PROMPT COMMAND")
	}
	ctx := context.Background()
	cwd, err := filepath.EvalSymlinks(ts.MkAbs("."))
	ts.Check(err)
	store := session.Open(filepath.Join(ts.Getenv("CLAUDE_CONFIG_DIR"), "projects"))
	s, err := store.Create(ctx, &session.CreateOptions{ID: args[0], Cwd: cwd})
	ts.Check(err)
	input, err := json.Marshal(map[string]string{"command": args[2]})
	ts.Check(err)
	uuid := func(n string) string { return args[0][:8] + "-1111-4111-8111-00000000000" + n }
	ts.Check(s.Append(ctx,
		session.Entry{UUID: uuid("1"), Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf(args[1])}}},
		session.Entry{UUID: uuid("2"), Message: &session.Message{Role: model.Assistant, ID: "m1", Model: "m",
			Content: []model.Block{{Type: model.ToolUse, ID: "use-1", Name: "Bash", Input: input}}}}))
	record := checkpoint.New(cwd, s, nil).Recorder(s)
	call := &tool.Call{ID: "call-1", UseID: "use-1", Tool: "Bash", Input: input}
	ts.Check(record.Record(ctx, sched.Record{Step: sched.Dispatched, Call: call}))
	cmd := exec.Command("bash", "-ec", args[2])
	cmd.Dir = cwd
	out, err := cmd.CombinedOutput()
	ts.Check(err)
	ts.Check(record.Record(ctx, sched.Record{Step: sched.Finished,
		Outcome: &sched.Outcome{CallID: "call-1", UseID: "use-1", Tool: "Bash", Result: tool.Text(string(out))}}))
	ts.Check(s.Append(ctx, session.Entry{UUID: uuid("3"), Message: &session.Message{Role: model.Assistant, ID: "m2", Model: "m",
		Content: []model.Block{model.TextOf("Done.")}}}))
	ts.Check(s.Close())
}
