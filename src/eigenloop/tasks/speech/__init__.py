"""Speech: the utterances of TIMIT, their spectrograms, and how good a resynthesis sounds."""
