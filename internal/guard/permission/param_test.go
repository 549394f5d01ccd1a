package permission_test

import (
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/tool"
)

func TestRulesAboutNamesOfSkillsCommandsAndAgents(t *testing.T) {
	tests := []struct {
		rule, tool, input string
		matches           bool
	}{
		{"Skill", "Skill", `{"skill":"deploy"}`, true},
		{"Skill(deploy)", "Skill", `{"skill":"deploy"}`, true},
		{"Skill(deploy)", "Skill", `{"skill":"deploy","args":"now"}`, true},
		{"Skill(deploy)", "Skill", `{"skill":"deployer"}`, false},
		{"Skill(acme:deploy)", "Skill", `{"skill":"acme:deploy"}`, true},
		{"Skill(acme:deploy)", "Skill", `{"skill":"other:deploy"}`, false},
		{"Skill(acme:*)", "Skill", `{"skill":"acme:deploy"}`, true},
		{"Skill(acme:*)", "Skill", `{"skill":"acmeother:deploy"}`, false},
		{"Skill(skill:deploy)", "Skill", `{"skill":"deploy"}`, true},
		{"Skill(args:now)", "Skill", `{"skill":"x","args":"now"}`, true},
		{"Skill(args:now)", "Skill", `{"skill":"x","args":"later"}`, false},
		{"SlashCommand(/review)", "SlashCommand", `{"command":"/review"}`, true},
		{"SlashCommand(/review)", "SlashCommand", `{"command":"/review 12"}`, false},
		{"SlashCommand(/review:*)", "SlashCommand", `{"command":"/review 12"}`, true},
		{"SlashCommand(/git:*)", "SlashCommand", `{"command":"/git:commit x"}`, true},
		{"SlashCommand(/git:commit:*)", "SlashCommand", `{"command":"/git:commit x"}`, true},
		{"Agent(acme:reviewer)", "Agent", `{"subagent_type":"acme:reviewer"}`, true},
		{"Task(Explore)", "Agent", `{"subagent_type":"Explore"}`, true},
	}
	for _, tt := range tests {
		p := permission.NewPolicy(permission.Options{
			Rules: []permission.Rule{{Text: tt.rule, Behavior: tool.Deny, Origin: settings.Origin{Source: settings.User}}},
			Guard: virtualGuard(t), Home: "/home/u",
		})
		d := p.Decide(called(tt.tool, []byte(tt.input)))
		if got := d.Behavior == tool.Deny; got != tt.matches {
			t.Errorf("%s on %s %s: denied %t, want %t", tt.rule, tt.tool, tt.input, got, tt.matches)
		}
	}
}

func TestAToolMaySuggestANarrowerRule(t *testing.T) {
	p := permission.NewPolicy(permission.Options{Guard: virtualGuard(t), Home: "/home/u"})
	c := tool.Case{Call: &tool.Call{Tool: "Skill", Input: []byte(`{"skill":"deploy"}`)}}
	c.Own = tool.Verdict{Behavior: tool.Ask, Suggestions: []tool.Suggestion{{Rule: "Skill(deploy)", Behavior: tool.Allow}}}
	d := p.Decide(c)
	if d.Behavior != tool.Ask || len(d.Suggestions) != 1 || d.Suggestions[0].Rule != "Skill(deploy)" {
		t.Errorf("verdict %+v", d.Verdict)
	}
}
