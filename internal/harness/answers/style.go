package answers

import (
	"cmp"
	"context"

	"github.com/haftdev/haft/internal/text/visible"
)

// stylesText lists the output styles and marks the one of this session.
func (a answerer) stylesText() string {
	return table(func(row func(...any)) {
		for _, st := range a.c.World.Project.Library.Styles.List().Styles {
			now := ""
			if st.Name == a.c.Style {
				now = a.t("in use")
			}
			row(st.Name, now, visible.Indented(st.Description))
		}
	}) + "\n" + a.t("Choose one with: %s", "/output-style STYLE [local|project|user]")
}

// chooseStyle keeps an output style: STYLE [local|project|user]. The session that runs keeps
// its own, which is part of the system prompt that the provider has cached.
func (a answerer) chooseStyle(ctx context.Context, args string) (string, error) {
	name, scope := cutScope(args, "local", "project", "user")
	st, err := a.c.World.Project.Library.Styles.Find(name)
	if err != nil {
		return "", err
	}
	for _, s := range Settings(a.c) {
		if s.Key == "outputStyle" {
			return a.set(ctx, s.Knob, st.Name, cmp.Or(scope, "user"))
		}
	}
	return "", a.errorf("could not choose the output style %s: there is no setting to save it in", st.Name)
}
