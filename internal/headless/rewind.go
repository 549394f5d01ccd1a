package headless

import (
	"context"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/wire"
)

// rewind brings files back to how a message found them. Whoever asks over the wire
// has decided: what others have changed since is not asked about again.
func (s *server) rewind(ctx context.Context, talk *harness.Conversation, r *wire.RewindFiles) (any, error) {
	plan, err := talk.PlanRewind(ctx, r.UserMessageID)
	if err != nil {
		return nil, err
	}
	reply := wire.RewindFilesReply{CanRewind: true}
	for _, step := range plan.Steps {
		reply.FilesChanged = append(reply.FilesChanged, step.Path)
	}
	reply.Insertions, reply.Deletions = plan.Insertions, plan.Deletions
	if r.DryRun {
		return reply, nil
	}
	_, err = talk.Rewind(ctx, plan, true)
	reply.SkippedLinks = new(int) // links are put back like files
	return reply, err
}
