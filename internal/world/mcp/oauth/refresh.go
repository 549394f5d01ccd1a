package oauth

import (
	"time"
)

// refreshTime is how long a refresh may take, whoever waits for it.
const refreshTime = 30 * time.Second
