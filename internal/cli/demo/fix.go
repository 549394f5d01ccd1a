package demo

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/haftdev/haft/model/script"
)

// fixScene is a whole task: look, change, test, generate, and a call that is denied.
func fixScene() scene {
	return scene{
		name:   "fix",
		title:  "a failing test is fixed: reads, an edit, a test run, a previewed command, a denial",
		intro:  "A Go repository in DIR has a failing test.",
		prompt: "The test of this package fails. Fix the code.",
		next:   "The real thing, in one of your own repositories:\n  ANTHROPIC_API_KEY=… haft -p \"say what to do\"",
		allow:  []string{"Bash(go test:*)", "Edit(basket.go)"},
		deny:   []string{"Bash(git push:*)"},
		ready:  needGo,
		script: fixScript,
		check:  testsPass,
	}
}

func needGo() error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("this scene fixes a Go program, but there is no go command here: install Go, or watch another scene: haft demo verdicts")
	}
	return nil
}

// testsPass runs the test itself.
func testsPass(ctx context.Context, dir string) error {
	test := exec.CommandContext(ctx, "go", "test", "./...")
	test.Dir = dir
	if out, err := test.CombinedOutput(); err != nil {
		return fmt.Errorf("the test still fails:\n%s", out)
	}
	return nil
}

func fixScript(dir string) *script.Scenario {
	file := func(name string) string { return filepath.Join(dir, name) }
	const patience = 600_000 // milliseconds: the first go test of a machine builds the standard library
	test := func(description string) script.Block {
		return call("Bash", in{"command": "go test ./...", "description": description, "timeout": patience})
	}
	return &script.Scenario{Turns: []script.Turn{
		turn("I'll run the test first to see how it fails.", todos("in_progress", "pending", "pending"), test("Run the tests")),
		turn("Baskets with several pieces cost too little. I'll look at the code, its test and every use of Pieces at once.",
			todos("completed", "in_progress", "pending"),
			call("Read", in{"file_path": file("basket.go")}),
			call("Read", in{"file_path": file("basket_test.go")}),
			call("Grep", in{"pattern": `Pieces`, "path": dir, "output_mode": "content"})),
		turn("Total adds the price of one piece, however many there are.",
			todos("completed", "completed", "in_progress"),
			call("Edit", in{"file_path": file("basket.go"), "old_string": "sum += item.Price\n", "new_string": "sum += item.Price * item.Pieces\n"})),
		{Blocks: []script.Block{test("Run the tests again")}},
		turn("The tests pass. API.md is generated; I'll run the generator in case it is out of date.",
			bash("go generate ./...", "Bring API.md up to date")),
		turn("I'll publish the change right away.",
			todos("completed", "completed", "completed"),
			bash("git push origin main", "Publish the change")),
		turn("A rule denies publishing, and rightly so: you did not ask for it. Total now counts every piece, and the tests pass."),
	}}
}

func todos(statuses ...string) script.Block {
	names := [][2]string{{"Run the test", "Running the test"}, {"Find the cause", "Finding the cause"}, {"Fix it and test again", "Fixing it"}}
	var items []in
	for i, n := range names {
		items = append(items, in{"content": n[0], "activeForm": n[1], "status": statuses[i]})
	}
	return call("TodoWrite", in{"todos": items})
}
