package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/haftdev/haft/session"
)

// KeepImage stores a user's image with the session. The model may read it without asking.
func (c *Conversation) KeepImage(png []byte) (path string, err error) {
	dir := c.Journal().Dir()
	if dir == "" {
		return "", errors.New("could not save the image: this session is not saved. Mention the file instead: @picture.png")
	}
	dir = filepath.Join(dir, "images")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("could not save the image: %w", err)
	}
	path = filepath.Join(dir, session.NewUUID()+".png")
	if err := os.WriteFile(path, png, 0o600); err != nil {
		return "", fmt.Errorf("could not save the image: %w", err)
	}
	c.World.Project.Kept.Add(dir)
	return path, nil
}
