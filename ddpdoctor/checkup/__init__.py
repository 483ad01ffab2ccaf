"""Pure but `look`. `ddpdoctor check`: facts of this machine and of a launch command, and one judgement a file."""
