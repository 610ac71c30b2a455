"""What a run says of its stacks: the questions it answers, which differences are beyond doubt, and what follows."""
