package answers

import (
	"cmp"
	"context"
	"fmt"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/visible"
)

// stylesText lists the output styles and marks the one of this session.
func stylesText(c *harness.Conversation) string {
	return table(func(row func(...any)) {
		for _, st := range c.World.Project.Library.Styles.List().Styles {
			now := ""
			if st.Name == c.Style {
				now = "in use"
			}
			row(st.Name, now, visible.Indented(st.Description))
		}
	}) + "\nChoose one with: /output-style STYLE [local|project|user]"
}

// chooseStyle keeps an output style: STYLE [local|project|user]. The session that runs keeps
// its own, which is part of the system prompt that the provider has cached.
func chooseStyle(ctx context.Context, c *harness.Conversation, args string) (string, error) {
	name, scope := cutScope(args, "local", "project", "user")
	st, err := c.World.Project.Library.Styles.Find(name)
	if err != nil {
		return "", err
	}
	for _, s := range Settings(c) {
		if s.Key == "outputStyle" {
			return set(ctx, c, s.Knob, st.Name, cmp.Or(scope, "user"))
		}
	}
	return "", fmt.Errorf("could not choose the output style %s: there is no setting to save it in", st.Name)
}
