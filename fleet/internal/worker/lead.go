package worker

// takenFactor is how many times as often a run may be taken if each worker gets some way: what
// a turn does may be what kills them.
const takenFactor = 3
