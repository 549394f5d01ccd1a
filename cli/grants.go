package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/haftdev/haft/knowledge/frontmatter"
	"github.com/haftdev/haft/knowledge/prompt"
	"github.com/haftdev/haft/permission/ask"
	"github.com/haftdev/haft/permission/trust"
)

// grants is what trust in a skill, a command or an agent would let it do.
type grants struct {
	// Allows are the rules that hold while it is used, Tools those of an agent; none
	// means all.
	Allows []string `json:"allows,omitempty"`
	Tools  []string `json:"tools,omitempty"`
	// Runs are the commands that its use runs.
	Runs []string `json:"runs,omitempty"`
	// Mode is the permission mode that an agent asks for.
	Mode string `json:"mode,omitempty"`
}

// grantsOf reads an item; nil if it is of another kind.
func grantsOf(i trust.Item) *grants {
	if i.Kind != trust.Skill && i.Kind != trust.Command && i.Kind != trust.Agent {
		return nil
	}
	doc, _ := frontmatter.Parse(i.Text) // the body is good also if the fields are not
	if i.Kind == trust.Agent {
		return &grants{Tools: doc.Fields.List("tools"), Mode: doc.Fields.Text("permission-mode")}
	}
	return &grants{Allows: doc.Fields.List("allowed-tools"), Runs: prompt.Parse(doc.Body).Commands()}
}

// write writes what there is, a line each.
func (g *grants) write(w io.Writer, files []string) {
	if g == nil {
		return
	}
	line := func(what string, list []string) {
		if len(list) > 0 {
			fmt.Fprintf(w, "            %s: %s\n", what, ask.Visible(strings.Join(list, ", ")))
		}
	}
	line("allows", g.Allows)
	line("tools", g.Tools)
	if g.Mode != "" {
		line("mode", []string{g.Mode})
	}
	for _, command := range g.Runs {
		line("runs", []string{command})
	}
	line("files", files)
}
