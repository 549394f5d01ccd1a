package skill_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	library "github.com/haftdev/haft/internal/knowledge/skill"
	"github.com/haftdev/haft/internal/tools/skill"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

// A shop is a place with skills in it.
type shop struct {
	t   *testing.T
	dir string
}

func newShop(t *testing.T) shop {
	s := shop{t, t.TempDir()}
	s.write("plain", "---\ndescription: Explains things\n---\nExplain $ARGUMENTS with a picture.")
	s.write("commit", "---\ndescription: Commits\nallowed-tools: Bash(git diff:*), Read\nmodel: haiku\n---\nNow: !`git diff --stat`")
	s.write("deploy", "---\ndescription: Deploys\ndisable-model-invocation: true\n---\nGo.")
	return s
}

func (s shop) write(name, text string) {
	s.t.Helper()
	dir := filepath.Join(s.dir, "skills", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s shop) library() *library.Library {
	return library.New([]knowledge.Place{{Dir: s.dir, Source: settings.User}}, nil)
}

func (s shop) tool(o skill.Options) tool.Tool {
	o.Skills = s.library()
	return skill.New(&o)
}

// answer is what every call of a skill gets.
func answer(context.Context, prompt.Request) (tool.Result, error) { return tool.Text("2 files"), nil }

func TestConformance(t *testing.T) {
	tooltest.Run(t, tooltest.Subject{
		Tool:  newShop(t).tool(skill.Options{Calls: answer}),
		Valid: []string{`{"skill":"plain"}`, `{"skill":"plain","args":"maps"}`, `{"skill":"commit"}`},
	})
}

func TestWithoutSkillsItSaysSo(t *testing.T) {
	if d := skill.New(nil).Describe(nil); !strings.HasSuffix(d, "There are no skills in this session.") {
		t.Errorf("description: %s", d)
	}
}

func TestTheDescriptionListsWhatMayBeCalled(t *testing.T) {
	s := newShop(t)
	sk := s.tool(skill.Options{Allowed: func(name string) bool { return name != "commit" }})
	first := sk.Describe(nil)
	if !strings.HasSuffix(first, "Skills:\n- plain: Explains things") {
		t.Errorf("description: %s", first)
	}
	s.write("new", "---\ndescription: New\n---\nx")
	if sk.Describe(nil) != first {
		t.Error("the description changed within a session")
	}
}

func TestTheTextJoinsTheConversation(t *testing.T) {
	s := newShop(t)
	sk := s.tool(skill.Options{Calls: answer})
	r, err := sk.Run(t.Context(), &tool.Call{Input: []byte(`{"skill":"commit"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if r.Text() != "The skill commit is loaded. Its text follows; do what it says." {
		t.Errorf("result %q", r.Text())
	}
	want := []tool.Message{{Content: []tool.Block{{Type: tool.TextBlock, Text: "The skill's folder: DIR\n\nNow: 2 files"}}}}
	dir := filepath.Join(s.dir, "skills", "commit")
	r.Messages[0].Content[0].Text = strings.ReplaceAll(r.Messages[0].Content[0].Text, dir, "DIR")
	if diff := cmp.Diff(want, r.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&tool.Change{Allow: []string{"Bash(git diff:*)", "Read"}, Model: "haiku"}, r.Change); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
}

// A crew says what it was given, and ends as it is told to.
type crew struct {
	subagent.Crew
	status subagent.Status
	job    subagent.Job
}

func (c *crew) Agents() []subagent.Kind {
	return []subagent.Kind{{Name: "general-purpose"}, {Name: "Explore"}, {Name: "Copy", Worktree: true}, {Name: "Forbidden", Denied: true}}
}

func (c *crew) Run(_ context.Context, j subagent.Job, _ func(tool.AgentProgress)) subagent.Report {
	c.job = j
	return subagent.Report{ID: "a1", Kind: j.Kind, Status: c.status, Text: "It is there.", Why: "it was stopped"}
}

// TestASkillThatWantsAnAgentOfItsOwn is given to one, and its report is the result; where there are no agents it is
// loaded.
func TestASkillThatWantsAnAgentOfItsOwn(t *testing.T) {
	s := newShop(t)
	s.write("fork", "---\ncontext: fork\nagent: Explore\nmodel: haiku\nallowed-tools: Read\n---\nFind it.")
	workers := &crew{status: subagent.Completed}
	sk := s.tool(skill.Options{Crew: workers, Hooks: func(string, string) error { return errors.New("they are the agent's") }})
	agent := tool.New(tool.Def[struct{}, string]{Name: "Agent", Description: "x", Run: func(context.Context, *tool.Call, struct{}) (string, error) { return "", nil }})
	with := func(tools ...tool.Tool) *tool.Call {
		return &tool.Call{UseID: "use", Input: []byte(`{"skill":"fork"}`), Tools: tool.NewSet(nil, tools, nil, nil)}
	}
	r, err := sk.Run(t.Context(), with(agent))
	if err != nil || !strings.HasPrefix(r.Text(), "A separate agent carried out the skill fork. Its report:\n\nIt is there.") || r.Messages != nil || r.Change != nil || r.Failed {
		t.Errorf("%+v, %v", r, err)
	}
	got := workers.job
	if got.UseID != "use" || got.Kind != "Explore" || got.Model != "haiku" || !strings.HasSuffix(got.Prompt, "Find it.") || got.Text.Kind != "skill" || got.Text.Name != "fork" || got.Text.Digest == "" {
		t.Errorf("the job was %+v", got)
	}
	out, err := json.Marshal(r.Output)
	if want := `"status":"forked","agentId":"a1","result":"It is there."`; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("programs get %s, %v, want %s", out, err, want)
	}
	workers.status = subagent.Stalled
	if r, err := sk.Run(t.Context(), with(agent)); err != nil || !r.Failed || !strings.Contains(r.Text(), "did not finish (stalled)") {
		t.Errorf("an agent that did not finish: %+v, %v", r, err)
	}
	if _, err := sk.Run(t.Context(), with()); err == nil || !strings.Contains(err.Error(), "they are the agent's") {
		t.Errorf("without agents it is loaded, with its hooks: %v", err)
	}
	if r, err := s.tool(skill.Options{}).Run(t.Context(), with()); err != nil || !strings.HasSuffix(r.Messages[0].Content[0].Text, "Find it.") {
		t.Errorf("without agents: %+v, %v", r, err)
	}
}

// TestWhatAnAgentOfItsOwnMayDoIsAskedAbout, and one that must not be started keeps the skill from being used.
func TestWhatAnAgentOfItsOwnMayDoIsAskedAbout(t *testing.T) {
	s := newShop(t)
	agent := tool.New(tool.Def[struct{}, string]{Name: "Agent", Description: "x", Run: func(context.Context, *tool.Call, struct{}) (string, error) { return "", nil }})
	for kind, want := range map[string]string{
		"Copy": "the skill fork gets its own worktree", "Forbidden": "runs in the agent Forbidden, which a rule denies", "Nobody": `There is no agent "Nobody"`, "Explore": "",
	} {
		s.write("fork", "---\ncontext: fork\nagent: "+kind+"\n---\nFind it.")
		sk := s.tool(skill.Options{Crew: &crew{}})
		c := &tool.Call{Input: []byte(`{"skill":"fork"}`), Tools: tool.NewSet(nil, []tool.Tool{agent}, nil, nil)}
		if m := sk.Marks(c); m.ReadOnly == (kind == "Copy") || !m.ConcurrencySafe {
			t.Errorf("%s: %+v", kind, m)
		}
		said := sk.Permission(t.Context(), c).Message
		if p := sk.Validate(t.Context(), c); p != nil {
			said += p.Message
		}
		if !strings.Contains(said, want) || want == "" && said != "" {
			t.Errorf("%s: %q, want %q", kind, said, want)
		}
	}
}

func TestALongTextIsCut(t *testing.T) {
	s := newShop(t)
	s.write("long", strings.Repeat("é", 150_000))
	sk := s.tool(skill.Options{})
	r, err := sk.Run(t.Context(), &tool.Call{Input: []byte(`{"skill":"long"}`)})
	if err != nil {
		t.Fatal(err)
	}
	text := r.Messages[0].Content[0].Text
	if len([]rune(text)) > 101_000 || !strings.HasSuffix(text, "SKILL.md.]") {
		t.Errorf("%d characters, ending in %q", len([]rune(text)), text[len(text)-60:])
	}
}

func TestWhatGrantsOrRunsIsAskedAbout(t *testing.T) {
	sk := newShop(t).tool(skill.Options{})
	if v := sk.Permission(t.Context(), &tool.Call{Input: []byte(`{"skill":"plain"}`)}); v.Behavior != tool.Allow {
		t.Errorf("plain: %+v", v)
	}
	v := sk.Permission(t.Context(), &tool.Call{Input: []byte(`{"skill":"commit"}`)})
	if v.Behavior != tool.Ask || v.Message != "the skill commit allows Bash(git diff:*), Read and runs git diff --stat" {
		t.Errorf("commit: %+v", v)
	}
	if diff := cmp.Diff([]tool.Suggestion{{Rule: "Skill(commit)", Behavior: tool.Allow}}, v.Suggestions); diff != "" {
		t.Errorf("suggestions (-want +got):\n%s", diff)
	}
}

func TestASkillThatChangedAfterTheVerdictIsNotLoaded(t *testing.T) {
	s := newShop(t)
	sk := s.tool(skill.Options{Calls: answer})
	v := sk.Permission(t.Context(), &tool.Call{Input: []byte(`{"skill":"commit"}`)})
	s.write("commit", "---\nallowed-tools: Bash\n---\nEvil.")
	_, err := sk.Run(t.Context(), &tool.Call{Input: v.Input})
	if err == nil || err.Error() != "The skill commit changed while permission was being decided. Call it again." {
		t.Errorf("error %v", err)
	}
}

func TestProblemsSayWhatToDo(t *testing.T) {
	sk := newShop(t).tool(skill.Options{})
	for input, want := range map[string]string{
		`{"skill":"comit"}`:  `There is no skill named "comit". Did you mean commit?`,
		`{"skill":"/plain"}`: `There is no skill named "/plain". Did you mean plain?`,
		`{"skill":"deploy"}`: "Only the user can call the skill deploy, by typing /deploy. Tell the user if it is needed.",
	} {
		p := sk.Validate(t.Context(), &tool.Call{Input: []byte(input)})
		if p == nil || p.Message != want {
			t.Errorf("%s: %+v, want %s", input, p, want)
		}
	}
}

func TestACommandThatIsDeniedKeepsTheSkillOut(t *testing.T) {
	sk := newShop(t).tool(skill.Options{Calls: func(context.Context, prompt.Request) (tool.Result, error) {
		return tool.Result{}, errors.New("a rule denies it")
	}})
	// Through the pipeline, so that the model's error lane is seen.
	s := sched.New(&sched.Options{Judge: sched.JudgeFunc(func(context.Context, tool.Case) tool.Verdict { return tool.Verdict{Behavior: tool.Allow} })})
	out := s.Call(t.Context(), tool.NewSet(nil, []tool.Tool{sk}, nil, nil), "u", "Skill", []byte(`{"skill":"commit"}`))
	want := "The skill commit was not loaded: could not run !`git diff --stat`: a rule denies it. Do the work without it, or ask the user to allow what it needs."
	if out.Status != sched.Failed || out.Result.Text() != want || len(out.Result.Messages) != 0 || out.Result.Change != nil {
		t.Errorf("%s: %+v", out.Status, out.Result)
	}
}
