package cli_test

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/haftdev/haft/model/script"
)

// serveModel is the script command
//
//	model [-may-refuse] FILE
//
// which serves a scenario as the model that haft asks from then on. ${WORK} in
// the file stands for the script's folder. The script fails if haft sends what the
// Messages API refuses, unless -may-refuse says that it is about such a refusal.
func serveModel(ts *testscript.TestScript, neg bool, args []string) {
	mayRefuse := len(args) == 2 && args[0] == "-may-refuse"
	if mayRefuse {
		args = args[1:]
	}
	if neg || len(args) != 1 {
		ts.Fatalf("usage: model [-may-refuse] FILE")
	}
	scenario, err := script.Load(ts.MkAbs(args[0]), map[string]string{"WORK": ts.Getenv("WORK")})
	ts.Check(err)
	server, err := script.Serve(&script.Options{Scenario: scenario})
	ts.Check(err)
	ts.Defer(func() {
		_ = server.Close()
		if refused := server.Refused(); len(refused) > 0 && !mayRefuse {
			ts.Fatalf("the Messages API refuses requests:\n%s", strings.Join(refused, "\n"))
		}
	})
	*ts.Value(modelKey{}).(**script.Server) = server
	ts.Setenv("ANTHROPIC_BASE_URL", server.URL())
	ts.Setenv("ANTHROPIC_API_KEY", "scripted")
}

type modelKey struct{}

// asked is the script command
//
//	asked COUNT
//	[!] asked NUMBER PATTERN
//
// which checks how many requests the model got, or what request NUMBER, from 1,
// says.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	server := *ts.Value(modelKey{}).(**script.Server)
	if server == nil || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: asked COUNT, or asked NUMBER PATTERN, after model")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	if len(args) == 1 {
		if got := server.Total(); got != n || neg {
			ts.Fatalf("the model was asked %d times, want %d", got, n)
		}
		return
	}
	requests := server.Requests()
	if n < 1 || n > len(requests) {
		ts.Fatalf("the model was asked %d times", len(requests))
	}
	body := requests[n-1].Body
	if regexp.MustCompile(args[1]).Match(body) == neg {
		ts.Fatalf("request %d: match of %q is %v:\n%s", n, args[1], !neg, body)
	}
}
